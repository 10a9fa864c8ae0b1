"""Reports on traces that were recorded on a GPU, and on one of a run under --act on simcuda (reports/NAME.umtrace.xz), in each format, are those beside them.

   reports_test.py            compares
   reports_test.py --update   writes them anew: read the difference before you commit it

UMADVISOR_BUILD names the build folder. The machine's own files have no say: neither its binaries nor what it was calibrated to.
"""

import json
import lzma
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPORTS = Path(__file__).resolve().parent / "reports"
FORMATS = {"txt": [], "json": ["--json"], "md": ["--markdown"], "sarif": ["--sarif"]}


def traces():
    return sorted(REPORTS.glob("*.umtrace.xz"))


def analyze(packed, command, options):
    with tempfile.TemporaryDirectory() as folder:
        name = packed.name.removesuffix(".xz")
        Path(folder, name).write_bytes(lzma.decompress(packed.read_bytes()))
        Path(folder, "empty").mkdir()
        line = [Path(os.environ["UMADVISOR_BUILD"]).resolve() / "bin/umadvisor", command, *options, name]
        done = subprocess.run(line, cwd=folder, stdout=subprocess.PIPE, env={"HOME": folder}, check=True)
        return done.stdout.decode().replace(folder, "FOLDER")


def report(packed, options):
    return analyze(packed, "report", ["--no-cache", "--sysroot", "empty", *options])


def expected(packed, suffix):
    return REPORTS / packed.name.replace(".umtrace.xz", f".{suffix}")


class Reports(unittest.TestCase):
    maxDiff = None

    def test_each_format_of_each_trace(self):
        self.assertGreaterEqual(len(traces()), 4)
        for packed in traces():
            for suffix, options in FORMATS.items():
                with self.subTest(trace=packed.name, format=suffix):
                    self.assertMultiLineEqual(expected(packed, suffix).read_text(), report(packed, options))

    def test_what_a_replay_moves_is_what_the_driver_moved(self):
        for name in "pingpong", "vector_add_managed":
            with self.subTest(trace=name):
                packed = REPORTS / f"{name}.umtrace.xz"
                told = json.loads(expected(packed, "json").read_text())["managed"]["totals"]
                replayed = json.loads(analyze(packed, "whatif", ["--json"]))["policies"]["on_demand"]
                for way in "to_device", "to_host":
                    self.assertEqual(replayed[f"{way}_bytes"], told[f"bytes_{way}"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        for each in traces():
            for suffix, options in FORMATS.items():
                expected(each, suffix).write_text(report(each, options))
    else:
        unittest.main()

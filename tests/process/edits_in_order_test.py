"""What tools/bench/edits-in-order says of the examples, and of reports that are not as they should be."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from traces import BUILD, ROOT, of_gpus, record

TOOL = ROOT / "tools/bench/edits-in-order"
EXAMPLES = ("pageable_copies", "pingpong", "small_copies", "pinned_copies", "graph_replay", "overlap", "fresh_scratch",
            "checked_often", "batched_copies")


def check(build, folder):
    outcome = subprocess.run([TOOL, "--build", build, folder], stdout=subprocess.PIPE, check=False)
    return outcome.returncode, [json.loads(line) for line in outcome.stdout.splitlines()]


def finding(**more):
    return {"rule": "UMA-506", "line": {"text": "main.cu:7"}, "advice": "leave these waits out", **more}


def report_of(folder, document):
    """An analyzer that says nothing else."""
    program = Path(folder, "bin/umadvisor")
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(document)}\nEND\n")
    program.chmod(0o755)
    Path(folder, "x.umtrace").touch()
    return check(folder, folder)


class EditsInOrder(unittest.TestCase):
    def test_examples(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in EXAMPLES:
                record(Path(folder, f"{name}.umtrace"), f"sim/{name}")
            of_gpus(folder)
            status, lines = check(BUILD, folder)
        self.assertEqual(status, 0, lines)
        self.assertEqual(lines[-1]["metric"], "edits.unordered")
        self.assertEqual(lines[-1]["value"], 0)
        self.assertGreater(lines[-1]["checked"], 0)

    def test_a_pair_that_no_remedy_names_is_counted(self):
        pair = {"first": {"text": "main.cu:5"}, "second": None, "by_host": True, "times": 3}
        named = "leave them out; wait with cudaStreamSynchronize(stream)"
        for document, unordered in (({"findings": [finding(order="named", lost_order=[pair])]}, 1),
                                    ({"findings": [finding(order="named", lost_order=[pair], advice=named)]}, 0),
                                    ({"findings": [], "stopped": [finding(order="named", lost_order=[pair])]}, 0),
                                    ({"findings": [finding(order="kept")]}, 0)):
            with tempfile.TemporaryDirectory() as folder:
                status, lines = report_of(folder, document)
            self.assertEqual((status, lines[-1]["value"], lines[-1]["checked"]), (unordered, unordered, 1))

    def test_a_trace_without_a_report_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "x.umtrace").write_bytes(b"no trace")
            self.assertEqual(check(BUILD, folder)[0], 1)


if __name__ == "__main__":
    os.chdir(tempfile.gettempdir())
    unittest.main()

"""What all rules together report of each program in the unit tests is what reported.txt says. A rule's own tests see that
rule alone; here is seen whether it speaks of programs that are there for others.

   reported_test.py            compares
   reported_test.py --update   writes the file anew: read the difference before you commit it

UMADVISOR_BUILD names the build folder. A line has a test, and after it the rules for each of its programs in turn."""

import itertools
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FILE = Path(__file__).with_name("reported.txt")


def told():
    """The text for the file, and lines about figures of another machine."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "reported")
        program = Path(os.environ["UMADVISOR_BUILD"]).resolve() / "bin/analyzer_tests"
        subprocess.run([program, "--log_level=nothing", "--report_level=no"], check=False, timeout=600,
                       env={**os.environ, "UMADVISOR_REPORTED": str(out)})
        lines = out.read_text().splitlines()
    tests = {}
    for line in lines:
        if not line.startswith("figure "):
            name, rules = line.split(":", 1)
            tests.setdefault(name, []).append(rules.strip() or "none")
    return "".join(f"{name}: {programs(each)}\n" for name, each in sorted(tests.items())), [
        line for line in lines if line.startswith("figure ")]


def programs(rules):
    runs = [(each, len(list(run))) for each, run in itertools.groupby(rules)]
    return ", ".join(each + (f" x{count}" if count > 1 else "") for each, count in runs)


class Reported(unittest.TestCase):
    maxDiff = None

    def test_rules_and_figures(self):
        text, figures = told()
        self.assertEqual(figures, [])
        self.assertMultiLineEqual(FILE.read_text(), text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        FILE.write_text(told()[0])
    else:
        unittest.main()

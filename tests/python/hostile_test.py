#!/usr/bin/env python3
"""Nothing of the package raises an exception into a program, with any argument (hostile_calls.py) and at any place."""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import surface_test as surface

CALLS = Path(__file__).with_name("hostile_calls.py")
WITHOUT_PROGRAM = {"UMADVISOR_PROGRAM": "/nowhere/umadvisor", "UMADVISOR_RANGES": "/nowhere/libumadvisor_ranges.so"}
WITH_ANOTHER = {"UMADVISOR_PROGRAM": "/bin/echo", "UMADVISOR_RANGES": "libc.so.6"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}

total = {"calls": 0, "raised": 0}


def tearDownModule():
    for name, value in total.items():
        print(json.dumps({"metric": f"python.{name}", "value": value}), flush=True)


class Hostile(surface.Case):
    def check(self, shell="exec \"$@\"", environment={}, options=()):
        """The shell line starts Python, "$@", where the calls are made."""
        result = self.folder / "result.json"
        inside = self.folder / "inside"
        inside.mkdir()
        done = subprocess.run(["/bin/sh", "-c", shell, "sh", sys.executable, *options, str(CALLS), str(result)], cwd=inside,
                              env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True)
        total["raised"] += done.returncode != 0  # something came out of a call that nothing was ready for
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        found = json.loads(result.read_text())
        total["calls"] += found["calls"]
        total["raised"] += sum(found["raised"].values())
        self.assertEqual(found["raised"], {})
        for name in ("record", "step", "report", "ensure_recorded", "Report", "__main__.main"):
            self.assertIn(f"umadvisor.{name}", found["found"])
        self.assertIn("%%umadvisor", found["found"])

    def test_where_nothing_is_installed(self):
        self.check(environment=WITHOUT_PROGRAM)

    def test_where_other_programs_stand_in_its_place_and_warnings_are_errors(self):
        self.check(environment={**WITH_ANOTHER, **ASCII}, options=["-W", "error"])

    def test_where_streams_are_closed_and_the_folder_is_gone(self):
        self.check(shell="rmdir ../inside; exec \"$@\" <&- >&- 2>&-", environment=WITHOUT_PROGRAM)

    def test_where_nothing_can_be_written(self):
        self.check(shell="cd /proc; TMPDIR=/proc exec \"$@\" >/dev/full 2>/dev/full", environment={**WITH_ANOTHER, "UMADVISOR_PYTEST_RAN": "/dev/full"})

    def test_where_it_is_recorded(self):
        program = os.environ.get("UMADVISOR_PROGRAM") or shutil.which("umadvisor")
        self.check(shell=f"exec {program} run -q --no-calibrate -c cudaProfilerApi -o x.umtrace -- env UMADVISOR_PROGRAM=/bin/echo \"$@\"",
                   environment={"UMADVISOR_PYTEST_RAN": str(self.folder / "ran")})


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""What verdicts are scored with: the runs are a fair choice, and the program is what the list says of it.
HABITS_BUNDLE names the build whose program for simcuda is run."""

import json
import os
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from suite import habits  # noqa: E402
from suite.bundle import Bundle  # noqa: E402
from suite.process import run  # noqa: E402

HABITS = {way.habit for way in habits.WAYS}


class Choice(unittest.TestCase):
    def test_seed(self):
        for sim in (False, True):
            self.assertEqual(habits.cases(1, 240, sim), habits.cases(1, 240, sim))
            self.assertNotEqual(habits.cases(1, 240, sim), habits.cases(2, 240, sim))

    def test_spread(self):
        for sim, left_out in ((False, {"oversubscribed"}), (True, set())):
            runs = habits.cases(7, 240, sim)
            self.assertEqual(len({tuple(each.arguments) for each in runs}), 240)
            kinds = Counter((each.way.habit, each.way.case) for each in runs)
            for habit in HABITS - left_out:
                self.assertIn((habit, "clear"), kinds)
                self.assertIn((habit, "near"), kinds)
            self.assertFalse({habit for habit, _ in kinds} & left_out)
            self.assertLessEqual(max(kinds.values()) - min(kinds.values()), 1)
            self.assertEqual({each.streams for each in runs}, set(habits.STREAMS))
            self.assertEqual({each.way for each in runs}, {way for way in habits.WAYS if way.habit not in left_out})

    def test_sizes(self):
        for sim, most in ((False, habits.MOST), (True, habits.MOST_ON_SIMCUDA)):
            runs = habits.cases(3, 240, sim)
            for each in runs:
                self.assertEqual(each.bytes % habits.PAGE, 0)
                self.assertTrue(each.way.least <= each.bytes <= min(each.way.most, most))
            # Log-uniform: below and above the geometric mean of the range there are about as many.
            middle = (habits.PAGE * most) ** 0.5
            self.assertTrue(0.3 < sum(each.bytes > middle for each in runs) / len(runs) < 0.7)

    def test_together(self):
        runs = habits.cases(4, 240, False)
        groups = list(habits.at_one_time(runs))
        self.assertEqual([each for group in groups for each in group], runs)
        for group in groups:
            self.assertLess(sum(each.managed_bytes for each in group), habits.MOST_AT_ONCE)


@unittest.skipUnless(os.environ.get("HABITS_BUNDLE"), "HABITS_BUNDLE is not set")
class Programs(unittest.TestCase):
    def setUp(self):
        self.bundle = Bundle(os.environ["HABITS_BUNDLE"], sim=True)
        self.program = self.bundle.program("managed_habits")

    def call(self, arguments, **environment):
        return run([self.program, *arguments], self.bundle.environment(**environment))

    def test_table(self):
        listed = [json.loads(line) for line in self.call(["--list"]).stdout.splitlines()]
        self.assertEqual([(row["habit"], row["case"], row["way"], row["label"], row["also"]) for row in listed],
                         [(way.habit, way.case, way.way, way.label, ",".join(way.also)) for way in habits.WAYS])

    def test_refusals(self):
        for arguments in (["--habit", "none", "--case", "borderline"], ["--bytes", "4097"], ["--bytes", str(1 << 32)],
                          ["--habit", "oversubscribed", "--case", "clear", "--bytes", "4096"]):
            outcome = self.call(arguments)
            self.assertEqual((outcome.status, outcome.stdout, outcome.stderr.count("\n")), (2, "", 1), arguments)
        outcome = self.call(["--habit", "oversubscribed", "--case", "near"], SIMCUDA_CONFIG="capacity=2G")
        self.assertEqual(outcome.status, 2)

    def test_runs(self):
        for each in habits.cases(11, 60 if "HABITS_ALL" in os.environ else 30, True):
            with self.subTest(" ".join(each.arguments)), tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report"
                outcome = self.call(each.arguments, SIMCUDA_REPORT=str(report), **each.environment)
                self.assertEqual((outcome.status, outcome.stderr), (0, ""))
                said = json.loads(outcome.stdout)
                self.assertTrue(said["right"])
                self.assertEqual((said["habit"], said["label"]), (each.way.habit, each.label))
                self.assertEqual(said["allocations"][0]["label"], each.label)
                self.moved_as_labelled(each, json.loads(report.read_text()))

    def moved_as_labelled(self, each, counted):
        """What the model of the driver counts where a label leaves no choice."""
        self.assertEqual(counted["thrashing_pages"] > 0, each.label == "thrashing")
        self.assertEqual(counted["evicted_blocks"] > 0, each.label == "oversubscribed")
        by_fault = [counted[way]["coherence"] for way in ("bytes_to_device", "bytes_to_host")]
        if each.label == "none":
            # One page that is read brings its 64 KiB along.
            self.assertLessEqual(sum(by_fault), 1 << 16 if each.way.way == "one-page" else 0)
        elif each.label == "first_touch" and each.way.case != "borderline":
            self.assertEqual(by_fault, [each.bytes, 0])
        elif each.label == "read_back" and each.way.case != "borderline":
            self.assertEqual(by_fault, [0, each.bytes])


if __name__ == "__main__":
    unittest.main()

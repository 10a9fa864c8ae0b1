"""Jobs of several ranks on simcuda: each writes its summary, merge makes one job of them, and report names the rank that deviates."""

import json
import random
import re
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from traces import ADVISOR, BUILD, environment

PROGRAM = BUILD / "bin/test-programs/rank_load"
RANKS, ROUNDS, JOBS = 8, 12, 20
# What each rank does in a round, before its own noise; microseconds, KiB of copies, calls.
USUAL = {"own": 400, "copied": 32768, "kernel": 500, "calls": 1}
MORE = {"own": ("own_ns", 2), "copied": ("to_device_bytes", 2), "kernel": ("kernels_ns", 2), "calls": ("calls_ns", 3)}


def ran(*command, **options):
    return subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True,
                          **options)


class Job:
    """Eight processes with the loads given, and the file of their job."""

    def __init__(self, folder, loads, *options):
        self.folder = Path(folder)
        self.file = self.folder / "job.umjob"
        slowest = max(self.busy(each) for each in loads)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda rank: self.run(rank, loads[rank], slowest, options), range(len(loads))))

    @staticmethod
    def busy(load):
        """Microseconds of a round, about: simcuda's link has 55 GB/s, and page-locking 1 MiB takes 320 us."""
        return load["own"] + load["copied"] * 1024 / 55e3 + load["kernel"] + load["calls"] * 320

    def run(self, rank, load, slowest, options):
        meeting = 20 + round(slowest - self.busy(load))
        ran(ADVISOR, "run", "-q", "--no-calibrate", "--summary", *options, "-o", self.folder / "rank.umtrace", "--", PROGRAM,
            ROUNDS, load["own"], load["copied"], load["kernel"], load["calls"], meeting, env=environment(RANK=str(rank)))

    def merge(self, *parts, output=None):
        output = output or self.file
        ran(ADVISOR, "merge", "-f", "-o", output, *(parts or [self.folder]))
        return output

    def report(self):
        return json.loads(ran(ADVISOR, "report", "--json", self.file).stdout)


def loads_of(seed):
    """Ranks that differ by a few percent, and one that does more of one thing."""
    chance = random.Random(seed)
    loads = [{what: round(value * chance.uniform(0.97, 1.03)) for what, value in USUAL.items()} for _ in range(RANKS)]
    what = list(MORE)[seed % len(MORE)]
    slow = chance.randrange(RANKS)
    loads[slow][what] = round(USUAL[what] * MORE[what][1])
    return loads, slow, MORE[what][0]


class Ranks(unittest.TestCase):
    def test_the_rank_that_deviates_is_named_with_what_it_does_more(self):
        for seed in range(JOBS):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                loads, slow, quantity = loads_of(seed)
                job = Job(folder, loads)
                job.merge()
                report = job.report()
                self.assertEqual(len(report["ranks"]), RANKS)
                self.assertEqual({each["rank"] for each in report["deviations"]}, {f"rank {slow}"})
                self.assertIn(quantity, [each["quantity"] for each in report["deviations"]])
                self.assertEqual(report["waiting"]["for_rank"], f"rank {slow}")
                text = ran(ADVISOR, "report", job.file).stdout
                self.assertIn(f"for rank {slow}", text)
                self.assertLessEqual(len(text.splitlines()), 60)

    def test_equal_ranks_do_not_deviate(self):
        with tempfile.TemporaryDirectory() as folder:
            chance = random.Random(99)
            job = Job(folder, [{what: round(value * chance.uniform(0.97, 1.03)) for what, value in USUAL.items()} for _ in range(RANKS)])
            job.merge()
            report = job.report()
            self.assertEqual(report["deviations"], [])
            self.assertIsNone(report["waiting"])

    def test_merging_in_any_order_and_groups_makes_the_same_job(self):
        with tempfile.TemporaryDirectory() as folder:
            job = Job(folder, [USUAL] * 4)
            summaries = sorted(Path(folder).glob("*.umsum"))
            self.assertEqual(len(summaries), 4)
            self.assertTrue(all(each.stat().st_size <= 100_000 for each in summaries))
            whole = job.merge(*summaries, output=job.folder / "whole").read_bytes()
            self.assertEqual(job.merge(*reversed(summaries), output=job.folder / "reversed").read_bytes(), whole)
            one = job.merge(*summaries[:2], output=job.folder / "one")
            other = job.merge(*summaries[1:], output=job.folder / "other")
            self.assertEqual(job.merge(other, one, output=job.folder / "both").read_bytes(), whole)
            # A summary and the trace it was made of are one process.
            self.assertEqual(job.merge(*summaries, *Path(folder).glob("*.umtrace"), output=job.folder / "traces").read_bytes(), whole)

    def test_what_made_no_cuda_call_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            job = Job(folder, [USUAL] * 2)
            launcher = json.loads((job.folder / "rank.0.umsum").read_text())
            launcher.update(rank="", pid=launcher["pid"] + 1000, calls=0)
            (job.folder / "launcher.umsum").write_text(json.dumps(launcher))
            job.merge()
            self.assertEqual(job.report()["left_out"], 1)
            self.assertIn("left out: 1 trace without a CUDA call", ran(ADVISOR, "report", job.file).stdout)

    def test_no_output_replaces_a_trace(self):
        with tempfile.TemporaryDirectory() as name:
            folder, page = Path(name), Path(name) / "page"
            page.mkdir()
            Job(folder, [USUAL] * 2)
            trace, other = folder / "rank.0.umtrace", folder / "rank.1.umtrace"
            (folder / "rank.0.umsum").unlink()
            kept = trace.read_bytes(), other.read_bytes()
            for command in (["merge", folder, "-f", "-o", trace], ["merge", folder, "-f", "-o", other],
                            ["report", "--html", "-f", "-o", trace, trace]):
                failed = subprocess.run([ADVISOR, *command], capture_output=True, text=True)
                self.assertEqual((failed.returncode, len(failed.stderr.splitlines())), (1, 1), failed)
            self.assertEqual((trace.read_bytes(), other.read_bytes()), kept)

    def test_ranks_that_are_given_one_output_write_to_files_of_their_own(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            command = ["run", "-q", "--no-calibrate", "-f", "-o"]
            program = ["--", PROGRAM, 1, 1, 1, 1, 1, 1]
            for rank in "0", "11":
                ran(ADVISOR, *command, folder / "x.umtrace", *program, env=environment(RANK=rank))
            self.assertEqual({each.name for each in folder.iterdir()}, {"x.0.umtrace", "x.11.umtrace"})
            # One's -f leaves the others alone, and without it a rank's own trace is in the way.
            kept = (folder / "x.0.umtrace").read_bytes()
            ran(ADVISOR, *command, folder / "x.umtrace", *program, env=environment(RANK="11"))
            self.assertEqual((folder / "x.0.umtrace").read_bytes(), kept)
            failed = subprocess.run([ADVISOR, "run", "-o", folder / "x.umtrace", "--", "true"], capture_output=True, text=True,
                                    env=environment(RANK="0"))
            self.assertEqual(failed.returncode, 1)
            self.assertIn("x.0.umtrace: exists already", failed.stderr)
            # Ranks that a launcher starts below one `umadvisor run`; a further process of a rank adds its pid.
            launcher = "for r in 4 5; do RANK=$r \"$@\"; RANK=$r \"$@\"; done"
            ran(ADVISOR, *command, folder / "y.umtrace", "--", "sh", "-c", launcher, "sh", *program[1:], env=environment())
            names = sorted(each.name for each in folder.glob("y.*"))
            self.assertEqual([re.sub("[0-9]{2,}", "PID", each) for each in names],
                             ["y.4.PID.umtrace", "y.4.umtrace", "y.5.PID.umtrace", "y.5.umtrace"])

    def test_a_name_that_ends_in_the_rank_stays_as_it_is(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for output in "rank3.umtrace", "trace.3", "rank13.umtrace":
                ran(ADVISOR, "run", "-q", "--no-calibrate", "-o", folder / output, "--", PROGRAM, 1, 1, 1, 1, 1, 1,
                    env=environment(RANK="3"))
            self.assertEqual({each.name for each in folder.iterdir()}, {"rank3.umtrace", "trace.3", "rank13.3.umtrace"})

    def test_each_trace_has_a_summary_of_its_own(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for output in ("trace.0", "trace.1", "odd.umsum", "usual.umtrace"):
                ran(ADVISOR, "run", "-q", "--no-calibrate", "--summary", "-o", folder / output, "--", PROGRAM, 1, 1, 1, 1, 1, 1,
                    env=environment())
            for output in ("trace.0", "trace.1", "odd.umsum", "usual.umtrace"):
                self.assertNotEqual((folder / output).read_bytes()[:1], b"{")
            self.assertEqual({each.name for each in folder.iterdir()} - {"trace.0", "trace.1", "odd.umsum", "usual.umtrace"},
                             {"trace.0.umsum", "trace.1.umsum", "odd.umsum.umsum", "usual.umsum"})

    def test_the_summary_of_an_earlier_run_does_not_stand_for_a_later_one(self):
        with tempfile.TemporaryDirectory() as name:
            trace = Path(name) / "x.umtrace"
            command = ["--no-calibrate", "-q", "-f", "-o", trace, "--", PROGRAM, 1, 1, 1, 1, 1, 1]
            ran(ADVISOR, "run", "--summary", *command, env=environment())
            self.assertTrue(trace.with_suffix(".umsum").exists())
            ran(ADVISOR, "run", *command, env=environment())
            self.assertFalse(trace.with_suffix(".umsum").exists())

    def test_one_rank_that_cannot_be_read_does_not_cost_the_job(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            job = Job(folder, [USUAL] * 2)
            (folder / "broken.umsum").write_text("{")
            merged = subprocess.run([ADVISOR, "merge", "-o", job.file, folder], capture_output=True, text=True)
            self.assertEqual(merged.returncode, 1)
            self.assertIn("broken.umsum", merged.stderr)
            self.assertEqual(len(job.report()["ranks"]), 2)

    def test_what_a_job_has_no_use_for_is_refused(self):
        with tempfile.TemporaryDirectory() as name:
            job = Job(name, [USUAL])
            job.merge()
            for option in ["--machine", job.file], ["--source"], ["--markdown"]:
                failed = subprocess.run([ADVISOR, "report", *option, job.file], capture_output=True, text=True)
                self.assertEqual(failed.returncode, 2, failed)
                self.assertIn(f"{option[0]} is for traces", failed.stderr)

    def test_a_file_that_holds_something_else_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("other.json", "{}"), ("broken", '{"schema": "umadvisor-summary-1"'), ("long", "{" + " " * 200_000),
                               ("deep", '{"a":' * 40_000)):
                path = Path(folder) / name
                path.write_text(text)
                for command in (["merge", "-o", Path(folder) / "out", path], ["report", path]):
                    failed = subprocess.run([ADVISOR, *command], capture_output=True, text=True)
                    self.assertEqual(failed.returncode, 1, failed)
                    self.assertEqual(len(failed.stderr.splitlines()), 1)
                    self.assertIn(str(path), failed.stderr)
                self.assertFalse((Path(folder) / "out").exists())


if __name__ == "__main__":
    unittest.main()

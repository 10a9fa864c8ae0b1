"""A job of two ranks on two devices, one of which does more in each step: the job's report names it, with what it does more."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from .cases import require
from .process import run
from .results import figure

PART = "ranks"
PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "torch_ranks.py"
# What the slow rank does more, which of the two it is, and how the report may name it.
JOBS = (("code", 1, ("own_ns",)), ("copies", 0, ("to_device_bytes", "copies_ns", "waits_ns")), ("kernels", 1, ("kernels_ns",)))


def check_ranks(cases, bundle, advised, devices):
    """Returns figures of suite eyes."""
    if bundle.sim or devices < 2 or find_spec("torch") is None:
        cases.not_run(PART, PROGRAM.stem, "not run on simcuda" if bundle.sim else "needs 2 devices and PyTorch")
        return []
    found = []
    for more, slow, quantities in JOBS:
        cases.check(PART, more, lambda m=more, s=slow, q=quantities: _check_slow(bundle, advised, m, s, q, found))
    cases.check(PART, "even", lambda: _check_even(bundle, advised))
    return [figure("ranks.deviant.found", [len(found) / len(JOBS)], "1")]


def _job(bundle, advised, more, slow):
    folder = advised.new_folder()

    def run_rank(rank):
        command = [bundle.umadvisor, "run", "-q", "--no-calibrate", "--summary", "-o", folder / f"rank{rank}.umtrace", "--", sys.executable,
                   PROGRAM, folder / "meet", more, str(slow)]
        return run(command, bundle.environment(RANK=str(rank), WORLD_SIZE="2"), 120)

    with ThreadPoolExecutor(2) as pool:
        for outcome in pool.map(run_rank, range(2)):
            require(outcome.status == 0, outcome.explain())
    merged = run([bundle.umadvisor, "merge", "-o", folder / "job.umjob", folder], bundle.environment())
    require(merged.status == 0, merged.explain())
    answer = run([bundle.umadvisor, "report", "--json", folder / "job.umjob"], bundle.environment())
    require(answer.status == 0, answer.explain())
    return json.loads(answer.stdout)


def _told(job):
    return "; ".join(f"{each['rank']}: {each['quantity']} {each['value']:.3g} against {each['others']:.3g}" for each in job["deviations"]) \
        or "no rank deviates"


def _check_slow(bundle, advised, more, slow, quantities, found):
    job = _job(bundle, advised, more, slow)
    told = _told(job)
    waiting = job["waiting"]
    require(waiting and waiting["for_rank"] == f"rank {slow}", f"waiting: {waiting}; {told}; {job['measured']}")
    require(any(each["rank"] == f"rank {slow}" and each["quantity"] in quantities for each in job["deviations"]), told)
    require(any(each["name"] == "train_step" for each in job["steps"]), "no steps")
    found.append(more)
    return f"{waiting['median_ns'] / 1e6:.3g} ms waited for it; {told}"


def _check_even(bundle, advised):
    job = _job(bundle, advised, "none", 0)
    require(not job["waiting"], f"waiting: {job['waiting']}; {_told(job)}")
    require(not job["deviations"], _told(job))
    return _told(job)

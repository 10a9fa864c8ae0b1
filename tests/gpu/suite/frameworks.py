"""Python frameworks under umadvisor: same results, a trace, and PyTorch's pageable copies found."""

import sys
from pathlib import Path

from .advised import rules
from .cases import require
from .process import run

PART = "frameworks"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"

# module that must be there, program, rule that must be found
FRAMEWORKS = (("torch", "torch_loop.py", "pageable-copy"), ("cupy", "cupy_sum.py", ""), ("jax", "jax_sum.py", ""))


def check_frameworks(cases, bundle, advised):
    for module, program, finding in FRAMEWORKS:
        if bundle.sim:
            cases.not_run(PART, program, "not run on simcuda")
        elif run([sys.executable, "-c", f"import {module}"], bundle.environment()).status != 0:
            cases.not_run(PART, program, f"python3 here has no {module}")
        else:
            cases.check(PART, program, lambda p=program, f=finding: _check_one(bundle, advised, p, f))


def _check_one(bundle, advised, program, finding):
    command = [sys.executable, PROGRAMS / program]
    bare = run(command, bundle.environment())
    require(bare.status == 0, f"bare: {bare.explain()}")
    outcome, traces = advised.run(command)
    require(outcome.status == 0, f"under umadvisor: {outcome.explain()}")
    require(outcome.stdout == bare.stdout, "output differs from the bare run")
    require(traces, "no trace was written")
    report = advised.report(traces[0])
    found = rules(report)
    listed = ", ".join(sorted(map(str, found))) or "none"
    require(not finding or finding in found, f"no {finding} finding; found: {listed}")
    return f"{len(traces)} trace(s), {traces[0].stat().st_size} B; findings: {listed}"

"""Python frameworks under umadvisor: same results, a trace, PyTorch's pageable copies found and lines of scripts named."""

import json
import sys
from pathlib import Path

from .advised import rules
from .cases import require
from .process import run

PART = "frameworks"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"

LINES = "torch_lines.py"  # prints the places that copy

PAGEABLE_RULES = ("UMA-101", "UMA-102")  # which of them depends on how the framework copies

# module that must be there, program, rules of which one must be found
FRAMEWORKS = (("torch", "torch_loop.py", PAGEABLE_RULES), ("cupy", "cupy_sum.py", ()), ("jax", "jax_sum.py", ()))


def check_frameworks(cases, bundle, advised):
    for module, program, expected in FRAMEWORKS:
        if bundle.sim:
            cases.not_run(PART, program, "not run on simcuda")
        elif run([sys.executable, "-c", f"import {module}"], bundle.environment()).status != 0:
            cases.not_run(PART, program, f"python3 here has no {module}")
        else:
            cases.check(PART, program, lambda p=program, e=expected: _check_one(advised, p, e))
            if module == "torch":
                cases.check(PART, LINES, lambda: _check_lines(advised))


def _check_one(advised, program, expected):
    traces = advised.run_as_bare([sys.executable, PROGRAMS / program])
    report = advised.report(traces[0])
    found = rules(report)
    listed = ", ".join(sorted(map(str, found))) or "none"
    require(not expected or found & set(expected), f"none of {', '.join(expected)}; found: {listed}")
    return f"{len(traces)} trace(s), {traces[0].stat().st_size} B; findings: {listed}"


def _check_lines(advised):
    """Each place that the program says it copies at is named by file, line and function."""
    outcome, traces = advised.run_well([sys.executable, PROGRAMS / LINES])
    expected = {tuple(json.loads(line)) for line in outcome.stdout.splitlines() if line.startswith("[")}
    missing = unnamed(expected, advised.report(traces[0]))
    require(expected and not missing, f"not named: {missing}")
    return f"{len(expected)} places named by file, line and function"


def unnamed(expected, report):
    """Which of these places (file, line, function, direction, memory of the host's end or None for any) no line of the
    report's copies is."""
    told = set()
    for row in report["copy_lines"]:
        line = row["line"] or {}
        memory = row["destination_memory" if row["direction"] == "DtoH" else "source_memory"]
        place = (line.get("file"), line.get("line"), line.get("function"), row["direction"])
        told |= {(*place, memory), (*place, None)}
    return sorted(expected - told, key=str)

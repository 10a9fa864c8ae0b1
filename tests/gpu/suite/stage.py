"""What --act stage makes of pageable copies: as they are, staged and pinned, side by side in one process."""

import json
import tempfile
from pathlib import Path

from .cases import require
from .process import run
from .results import figure

MIB = 1 << 20
TIME_LIMIT = 300  # seconds


def measure(bundle, arguments=()):
    """The lines of the program, how many copies the trace has as staged, and what the report notices."""
    with tempfile.TemporaryDirectory(prefix="umadvisor-stage-") as folder:
        trace = Path(folder) / "stage.umtrace"
        options = ["-q", "--hash", "off", "-c", "cudaProfilerApi", "--act", "stage", "-o", trace]
        outcome = run([bundle.umadvisor, "run", "--no-calibrate", *options, "--", bundle.program("stage_rates"),
                       *arguments], bundle.environment(), TIME_LIMIT)
        require(outcome.status == 0, f"stage_rates: {outcome.explain()}")
        answer = run([bundle.umadvisor, "report", "--json", trace], bundle.environment())
        require(answer.status == 0, f"umadvisor report: {answer.explain()}")
        report = json.loads(answer.stdout)
    staged = sum(way["count"] for way in report["copies_staged"].values())
    return [json.loads(line) for line in outcome.stdout.splitlines()], staged, report["notices"]


def figures(lines):
    """Of synchronous copies: the share of pinned speed at 256 MiB, how many times faster the shorter ones are, and the
    worst of all, asynchronous ones included."""
    for direction in ("h2d", "d2h"):
        of = {line["bytes"] // MIB: line for line in lines
              if line["direction"] == direction and not line["asynchronous"] and line["bytes"] >= MIB}
        if 256 in of:
            yield figure(f"stage.{direction}.256mib.of_pinned", [of[256]["pinned_us"] / of[256]["staged_us"]], "1")
        for mib in (4, 16):
            if mib in of:
                yield figure(f"stage.{direction}.{mib}mib.vs_pageable", [of[mib]["bare_us"] / of[mib]["staged_us"]], "1")
    yield figure("stage.worst.vs_pageable", [min(line["bare_us"] / line["staged_us"] for line in lines)], "1")


def check_stage(cases, bundle):
    """Returns the figures of suite act about staged copies, and what they are made of: a line for each kind of copy."""
    found = []

    def body():
        lines, staged, _ = measure(bundle)
        require(staged > 0, "no copy was staged")
        told = list(figures(lines))
        found.extend(told + lines)
        return ", ".join(f"{each['metric'].removeprefix('stage.')} {each['value']}" for each in told)
    cases.check("act-stage", "stage_rates", body)
    return found

"""Traces that tests of exports and formats look at: of programs on simcuda, and those that a GPU recorded."""

import lzma
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["UMADVISOR_BUILD"])
ADVISOR = BUILD / "bin/umadvisor"


def environment(**more):
    return {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib/simcuda"), **more}


def record(trace, program, *arguments, **more):
    subprocess.run([ADVISOR, "run", "-q", "--no-calibrate", "-o", trace, "--", BUILD / "bin" / program, *arguments], check=True,
                   stdout=subprocess.DEVNULL, env=environment(**more))
    return trace


def record_coherent(trace):
    """On a coherent machine: findings without a price, and pageable memory that kernels reach."""
    return record(trace, "sim/rule_cases", "--rule", "UMA-217", "--case", "fault", SIMCUDA_CONFIG="memory=cdmm")


def of_gpus(folder, prefix=""):
    traces = []
    for packed in sorted((ROOT / "tests/golden/reports").glob("*.umtrace.xz")):
        traces.append(Path(folder, prefix + packed.name.removesuffix(".xz")))
        traces[-1].write_bytes(lzma.decompress(packed.read_bytes()))
    return traces

"""A table of unmodified programs: what each prints and returns is the same with umadvisor preloaded, and its trace is
whole. Suite `programs`."""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import program_list
from .cases import FAIL, NOT_RUN, OK, Failure
from .nvcc import Nvcc
from .program import NotRun, witness
from .results import figure

PART = "programs"
# Programs at once. None holds more than 320 MiB of managed memory, so all of them stay below machine.py's plan.
AT_ONCE = 6


def check_programs(cases, bundle, advised, samples=None):
    """Returns the figures and one line for each program."""
    nvcc = Nvcc.find()
    with tempfile.TemporaryDirectory(prefix="umadvisor-programs-") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        # The long ones first: while they run, the others fill the gaps.
        waiting = [pool.submit(_judge, each, bundle, advised)
                   for programs in _lists(bundle, nvcc, Path(folder), samples) for each in programs]
        lines = [_enter(cases, each.result()) for each in waiting]
    agree = sum(line["result"] == "agrees" for line in lines)
    differ = sum(line["result"] == "differs" for line in lines)
    return [figure("programs.total", [agree + differ], "1"), figure("programs.agree", [agree], "1"), *lines]


def _lists(bundle, nvcc, folder, samples):
    yield program_list.python_programs(bundle)
    yield program_list.interplay_programs(bundle)
    yield program_list.example_programs(bundle)
    (folder / "own").mkdir()
    yield program_list.compiled_programs(bundle, nvcc, folder / "own")
    if samples:
        yield program_list.sample_programs(bundle, samples, nvcc, folder / "samples")


def _judge(program, bundle, advised):
    line = {"program": program.name, "result": "agrees"}
    try:
        if program.why_not:
            raise NotRun(program.why_not)
        line.update(witness(program, bundle, advised))
    except NotRun as reason:
        line.update(result="not run", detail=str(reason))
    except Failure as failure:
        line.update(result="differs", detail=str(failure))
    except Exception as error:  # a fault of the suite itself is a failed case too
        line.update(result="differs", detail=f"{type(error).__name__}: {error}")
    print(f"{line['result']:8} {program.name}", file=sys.stderr, flush=True)
    return line


def _enter(cases, line):
    verdict = {"agrees": OK, "differs": FAIL, "not run": NOT_RUN}[line["result"]]
    detail = line.get("detail", "")
    if "comparison" in line:
        detail = "; ".join(filter(None, (f"status {line['status']}, {line['comparison']}", detail)))
    cases.add(PART, line["program"], verdict, detail)
    return line

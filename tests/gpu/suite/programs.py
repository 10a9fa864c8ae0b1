"""A table of unmodified programs: what each prints and returns is the same with umadvisor preloaded, and its trace is
whole. Suite `programs`."""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import program_list
from .cases import FAIL, NOT_RUN, OK, Failure
from .nvcc import Nvcc
from .program import NotRun, witness
from .results import figure

PART = "programs"


@dataclass(frozen=True)
class Pace:
    """How a list of programs is gone through."""

    at_once: int = 6
    # Seconds after which no further program is begun: the table says which those are. A machine is lent for a time only,
    # and a run that is cut off shows nothing.
    last_start: float = 400


def check_programs(cases, bundle, advised, samples=None, texts=("",), pace=Pace()):
    """Returns the figures and one line for each program whose name holds one of `texts`."""
    nvcc = Nvcc.find()

    def wanted(name):
        return any(text in name for text in texts)
    with tempfile.TemporaryDirectory(prefix="umadvisor-programs-") as folder, ThreadPoolExecutor(pace.at_once) as pool:
        # The long ones first: while they run, the others fill the gaps.
        begun = time.monotonic()
        waiting = [pool.submit(judge, each, bundle, advised, begun, pace)
                   for programs in _lists(bundle, nvcc, Path(folder), samples, wanted) for each in programs
                   if wanted(each.name)]
        lines = [enter(cases, PART, each.result()) for each in waiting]
    agree = sum(line["result"] == "agrees" for line in lines)
    differ = sum(line["result"] == "differs" for line in lines)
    return [figure("programs.total", [agree + differ], "1"), figure("programs.agree", [agree], "1"), *lines]


def _lists(bundle, nvcc, folder, samples, wanted):
    yield program_list.python_programs(bundle)
    yield program_list.interplay_programs(bundle)
    yield program_list.example_programs(bundle)
    (folder / "own").mkdir()
    yield program_list.compiled_programs(bundle, nvcc, folder / "own")
    yield program_list.sample_programs(bundle, samples, nvcc, folder / "samples", wanted)


def judge(program, bundle, advised, begun, pace):
    """The line that a program gets in the results."""
    started = time.monotonic()
    line = {"program": program.name, "result": "agrees"}
    try:
        if program.why_not:
            raise NotRun(program.why_not)
        if started > begun + pace.last_start:
            raise NotRun(f"not reached within {pace.last_start:.0f} s")
        line.update(witness(program, bundle, advised))
    except NotRun as reason:
        line.update(result="not run", detail=str(reason))
    except Failure as failure:
        line.update(result="differs", detail=str(failure))
        print(failure.more[:4000], file=sys.stderr)
    except Exception as error:  # a fault of the suite itself is a failed case too
        line.update(result="differs", detail=f"{type(error).__name__}: {error}")
    print(f"{line['result']:8} {program.name}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return line


def enter(cases, part, line):
    verdict = {"agrees": OK, "differs": FAIL, "not run": NOT_RUN}[line["result"]]
    detail = line.get("detail", "")
    if "comparison" in line:
        actions = f"{line['actions']} actions" if "actions" in line else ""
        detail = "; ".join(filter(None, (f"status {line['status']}, {line['comparison']}", actions, detail)))
    cases.add(part, line["program"], verdict, detail)
    return line

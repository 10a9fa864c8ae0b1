"""What stacks show of programs that leave their frames otherwise than by returning, and of code that tells nothing of
its frames: C++, and Python's compilers."""

import re
import sys
from pathlib import Path

from .cases import FAIL, OK, require
from .process import run
from .results import figure

PART = "stacks"
SCRIPTS = Path(__file__).resolve().parents[1] / "programs"

THROWN = ("main", "throw_exceptions", "throw_on")
# scenario of stacks_program -> the stacks its allocations have, outermost function first
EXPECTED = {
    "exceptions": {(*THROWN, "throw_below", "allocate"),
                   (*THROWN, "throw_below", "throw_below", "allocate"),
                   (*THROWN, "throw_below", "throw_below", "throw_below", "allocate"),
                   (*THROWN, "allocate"),
                   ("main", "throw_exceptions", "allocate")},
    "jumps": {("main", "jump", "jump_below", "allocate"),
              ("main", "jump", "jump_below", "jump_below", "allocate"),
              ("main", "jump", "jump_below", "jump_below", "jump_below", "allocate"),
              ("main", "jump", "allocate")},
    "coroutines": {("main", "run_coroutines", "take_even", "allocating_numbers", "allocate"),
                   ("main", "run_coroutines", "take_odd", "allocating_numbers", "allocate")},
    # Code without a frame pointer is its stack's only frame.
    "generated": {("main", "run_generated_code", "call_generated"), ("no function",)},
}
# module that must be there, script, Python frames that must be a stack's innermost of the script
COMPILERS = (
    ("numba", "numba_calls.py", {"<module>"}),
    ("torch", "torch_compiled.py", {"main"}),
)


def check_stacks(cases, bundle, advised):
    """Returns the figures."""
    for scenario, expected in EXPECTED.items():
        cases.check(PART, f"stacks_program {scenario}", lambda s=scenario, e=expected: _check_program(bundle, advised, s, e))
    for module, script, functions in COMPILERS:
        if bundle.sim:
            cases.not_run(PART, script, "not run on simcuda")
        elif run([sys.executable, "-c", f"import {module}"], bundle.environment()).status != 0:
            cases.not_run(PART, script, f"python3 here has no {module}")
        else:
            cases.check(PART, script, lambda s=script, f=functions: _check_script(bundle, advised, s, f))
    right, wrong = (cases.count(PART, verdict) for verdict in (OK, FAIL))
    return [figure("stacks.programs.total", [right + wrong], "1"), figure("stacks.programs.right", [right], "1")]


def _check_program(bundle, advised, scenario, expected):
    stacks = _stacks(bundle, advised, [bundle.test_program("stacks_program"), scenario], "allocated")
    found = {tuple(_function(frame) for frame in stack[:-1]) for stack in stacks}
    require(found == expected, f"unlike what was called: {sorted(found ^ expected)}")
    return f"{len(found)} stacks are what was called"


def _check_script(bundle, advised, script, functions):
    """Compiled code stands between the driver and the script; the copies' stacks name the script's line all the same."""
    stacks = _stacks(bundle, advised, [sys.executable, SCRIPTS / script], "copied")
    own = [[frame for frame in stack if f"({script}:" in frame] for stack in stacks]
    nameless = [";".join(stack) for stack, frames in zip(stacks, own) if not frames]
    require(stacks and not nameless, f"no line of {script} in: {nameless[:3]}")
    found = {_function(frames[-1]) for frames in own}
    require(found == functions, f"lines of {sorted(found)}")
    return f"{len(stacks)} stacks name a line of {', '.join(sorted(functions))}"


def _stacks(bundle, advised, command, weight):
    """The stacks that the calls of a program and of its children have, outermost frame first, then the call."""
    _, traces = advised.run_well(command)
    stacks = []
    for trace in traces:
        answer = run([bundle.umadvisor, "flame", "--by", weight, trace], bundle.environment())
        require(answer.status == 0, f"umadvisor flame: {answer.explain()}")
        stacks += [line.rpartition(" ")[0].split(";") for line in answer.stdout.splitlines()]
    return stacks


def _function(frame):
    """A frame without its place; an address alone has no function."""
    return "no function" if frame.startswith("0x") else re.sub(r" \([^()]*:\d+\)$", "", frame)

"""Programs that prefetch by hand when asked to: --act prefetch takes the faults away from them as they stand, and changes
no result. programs/idle holds those that it can take nothing from."""

from pathlib import Path

from .cases import require
from .counter import counter
from .process import run
from .results import result_text

PART = "act-by-hand"
SOURCES = Path(__file__).resolve().parents[1] / "programs"
PROGRAMS = tuple(sorted(path.stem for path in (SOURCES / "managed").glob("*.cu")))
IDLE = tuple(sorted(path.stem for path in (SOURCES / "idle").glob("*.cu")))
LEFT_OUT = 8  # a block now and then is left to faults, to see whether it is used: this part of the bare faults at most


def bare(bundle, name, *words):
    """A way of a Contest."""
    return lambda: run([bundle.program(name), "--time", *words], bundle.environment())


def acted(bundle, advised, name, *words):
    """The same under --act prefetch."""
    return lambda: advised.run([bundle.program(name), "--time", *words], ["--act", "prefetch"])[0]


def check_by_hand(cases, bundle, advised):
    for name in PROGRAMS:
        cases.check(PART, f"{name}: bare, --act prefetch, by hand", lambda n=name: _faults(bundle, advised, n))
    for name in IDLE:
        cases.check(PART, f"{name}: nothing to prefetch", lambda n=name: _left_alone(bundle, advised, n))


def _faults(bundle, advised, name):
    command = [bundle.program(name)]
    result, faults = _counted(bundle, lambda environment: run(command, environment))
    repaired, left = _counted(bundle, lambda environment: advised.run(command, ["--act", "prefetch"], environment)[0])
    hand, beside = _counted(bundle, lambda environment: run([*command, "--hand"], environment))
    require(repaired == result, "output differs from the bare run")
    require(hand == result, "output by hand differs from the bare run")
    detail = f"device faults {faults['device_faults']} -> {left['device_faults']}, by hand {beside['device_faults']}"
    require(faults["device_faults"] > 0 and beside["device_faults"] == 0, f"not the program it should be: {detail}")
    require(left["device_faults"] * LEFT_OUT <= faults["device_faults"], detail)
    return detail


def _left_alone(bundle, advised, name):
    command = [bundle.program(name)]
    result, moved = _counted(bundle, lambda environment: run(command, environment))
    repaired, more = _counted(bundle, lambda environment: advised.run(command, ["--act", "prefetch"], environment)[0])
    require(repaired == result, "output differs from the bare run")
    require(moved["device_faults"] == 0, f"not the program it should be: {moved['device_faults']} device faults")
    return f"bytes to device {moved['to_device_bytes']} -> {more['to_device_bytes']}"


def _counted(bundle, body):
    """What the program printed, and the unified-memory counts of its run."""
    beside = counter(bundle, unified_memory=True)
    outcome = body(bundle.environment(**beside.environment))
    require(outcome.status == 0, outcome.explain())
    return result_text(outcome), beside.read()

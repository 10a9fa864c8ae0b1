"""Programs that prefetch by hand when asked to: --act prefetch takes the faults away from them as they stand, and changes
no result. programs/idle holds those that it can take nothing from."""

from pathlib import Path

from .cases import require
from .counted import changes, count_bare, count_both
from .process import run

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
    before, after = count_both(bundle, advised, command, "prefetch")
    hand = count_bare(bundle, [*command, "--hand"])
    require(hand.text == before.text, "output by hand differs from the bare run")
    faults, left, beside = (each.counts["device_faults"] for each in (before, after, hand))
    detail = f"device faults {faults} -> {left}, by hand {beside}"
    require(faults > 0 and beside == 0, f"not the program it should be: {detail}")
    require(left * LEFT_OUT <= faults, detail)
    return detail


def _left_alone(bundle, advised, name):
    before, after = count_both(bundle, advised, [bundle.program(name)], "prefetch")
    faults = before.counts["device_faults"]
    require(faults == 0, f"not the program it should be: {faults} device faults")
    return changes(before, after, "to_device_bytes")

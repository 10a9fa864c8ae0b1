"""What --act relieve gains where host and device take memory from each other, and that it does nothing elsewhere: bare and
with it in turn."""

from .by_hand import SOURCES, bare
from .cases import require
from .contest import Contest, enter, hold
from .counted import changes, count_both
from .results import figure

PART = "act-relieve"
ROUNDS = 7
LAST_START = 150  # seconds
PROGRAMS = tuple(sorted(path.stem for path in (SOURCES / "relief").glob("*.cu")))
# What is renewed often may be seen to be so before it gets any advice.
RELIEVED = ("read_by_both", "renewed_seldom", "shared_flags", "flags_later", "flags_copied")
# Nothing to relieve: what a prefetch moves, and what stays where it is.
OTHERS = ("ping_pong", "resident")


def check_act_relieve(cases, bundle, advised):
    """Returns the relief figures of suite act."""
    for name in PROGRAMS + OTHERS:
        cases.check(PART, f"{name}: bare, --act relieve", lambda n=name: _moved(bundle, advised, n))
    contests = [Contest(name, {"bare": bare(bundle, name), "act": _relieved(bundle, advised, name)})
                for name in PROGRAMS + OTHERS]
    hold(contests, 1 if bundle.sim else ROUNDS, LAST_START)
    return [figure(f"relieve.{each.name}.speedup", each.ratios("bare", "act", "work"), "ratio")
            for each in contests if enter(cases, PART, each, "work")]


def _relieved(bundle, advised, name):
    return lambda: advised.run([bundle.program(name), "--time"], ["--act", "relieve"])[0]


def _moved(bundle, advised, name):
    before, after = count_both(bundle, advised, [bundle.program(name)], "relieve")
    require(after.traces, "no trace was written")
    given = advised.own_actions(after.traces[0], "Advise")
    require(given > 0 or name not in RELIEVED, "umadvisor gave no advice")
    require(given == 0 or name not in OTHERS, f"{given} Advise by umadvisor")
    moved = changes(before, after, "to_device_bytes", "to_host_bytes", "device_faults")
    return f"{moved}, {given} Advise by umadvisor"

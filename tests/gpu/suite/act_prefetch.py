"""What --act prefetch gains: bare, repaired and by hand in turn. Programs that need no prefetch must not pay for it."""

import statistics

from .by_hand import IDLE, PROGRAMS
from .contest import Contest, hold
from .process import run
from .results import figure

PART = "act-prefetch"
ROUNDS = 5
IDLE_ROUNDS = 7
LAST_START = 170  # seconds for the rounds of the programs by hand, and half of it for the idle ones
# By hand already: there is nothing left to do.
PREFETCHED = ("ping_pong", "stencil", "stream_buffers")


def check_act_prefetch(cases, bundle, advised):
    """Returns the prefetch figures of suite act."""
    return [*_against_hand(cases, bundle, advised), *_idle(cases, bundle, advised)]


def _against_hand(cases, bundle, advised):
    contests = [Contest(name, {"bare": _bare(bundle, name), "act": _acted(bundle, advised, name),
                               "hand": _bare(bundle, name, "--hand")}) for name in PROGRAMS]
    hold(contests, 1 if bundle.sim else ROUNDS, LAST_START)
    figures, against_hand = [], []
    for contest in contests:
        if not _enter(cases, contest, ("bare", "act", "hand")):
            continue
        name = contest.name
        ratio = figure(f"prefetch.vs_hand.{name}", contest.ratios("hand", "act", "work"), "ratio")
        against_hand.append(ratio["value"])
        figures += [ratio, figure(f"prefetch.{name}.speedup", contest.ratios("bare", "act", "work"), "ratio")]
        if "steady" in contest.times["act"][0]:
            figures.append(figure(f"prefetch.vs_hand_steady.{name}", contest.ratios("hand", "act", "steady"), "ratio"))
    if against_hand:
        figures += [figure("prefetch.vs_hand.min", [min(against_hand)], "ratio"),
                    figure("prefetch.vs_hand.programs", [len(against_hand)], "1")]
    return figures


def _idle(cases, bundle, advised):
    runs = [(name, ()) for name in IDLE] + [(name, ("--hand",)) for name in PREFETCHED]
    contests = [Contest("_".join((name, *(word.strip("-") for word in words))),
                        {"bare": _bare(bundle, name, *words), "act": _acted(bundle, advised, name, *words)})
                for name, words in runs]
    hold(contests, 1 if bundle.sim else IDLE_ROUNDS, LAST_START / 2)
    figures = [figure(f"prefetch.idle.{contest.name}.ratio", contest.ratios("act", "bare", "work"), "ratio")
               for contest in contests if _enter(cases, contest, ("bare", "act"))]
    if figures:
        figures.append(figure("prefetch.idle.ratio.max", [max(each["value"] for each in figures)], "ratio"))
    return figures


def _bare(bundle, name, *words):
    return lambda: run([bundle.program(name), "--time", *words], bundle.environment())


def _acted(bundle, advised, name, *words):
    return lambda: advised.run([bundle.program(name), "--time", *words], ["--act", "prefetch"])[0]


def _enter(cases, contest, ways):
    """The row of a contest; false where it has no figures."""
    def detail():
        if contest.failure:
            raise contest.failure
        middle = [statistics.median(each["work"] for each in contest.times[way]) for way in ways]
        return "work " + ", ".join(f"{way} {value:.0f} us" for way, value in zip(ways, middle))
    return cases.check(PART, contest.name, detail) is not None and not contest.failure

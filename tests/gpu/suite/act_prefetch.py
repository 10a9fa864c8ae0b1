"""What --act prefetch gains: bare, repaired and by hand in turn."""

from .by_hand import PROGRAMS, acted, bare
from .contest import Contest, enter, hold
from .results import figure

PART = "act-prefetch"
ROUNDS = 15
LAST_START = 300  # seconds
GOAL = 0.95       # of the speed of prefetches by hand


def check_act_prefetch(cases, bundle, advised, texts=("",)):
    """Returns the prefetch figures of suite act, for the programs whose name holds one of `texts`."""
    contests = [Contest(name, {"bare": bare(bundle, name), "act": acted(bundle, advised, name),
                               "hand": bare(bundle, name, "--hand")}, seldom=("bare",))
                for name in PROGRAMS if any(text in name for text in texts)]
    hold(contests, 1 if bundle.sim else ROUNDS, LAST_START)
    held = [contest for contest in contests if enter(cases, PART, contest, "work")]
    against_hand = [figure(f"prefetch.vs_hand.{each.name}", each.ratios("hand", "act", "work"), "ratio") for each in held]
    figures = [figure(f"prefetch.{each.name}.speedup", each.ratios("bare", "act", "work"), "ratio") for each in held]
    # Without the rounds in which there was something to learn.
    figures += [figure(f"prefetch.vs_hand_steady.{each.name}", each.ratios("hand", "act", "steady"), "ratio")
                for each in held if "steady" in each.times["act"][0]]
    if held:
        values = [each["value"] for each in against_hand]
        figures += [figure("prefetch.vs_hand.min", [min(values)], "ratio"),
                    figure("prefetch.vs_hand.programs", [len(values)], "1"),
                    figure("prefetch.vs_hand.at_goal", [sum(value >= GOAL for value in values)], "1")]
    return against_hand + figures

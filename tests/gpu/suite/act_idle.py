"""Programs that need no prefetch must not pay for --act prefetch: bare and with it in turn."""

from .by_hand import IDLE, acted, bare
from .contest import Contest, enter, hold
from .results import figure

PART = "act-idle"
ROUNDS = 15
LAST_START = 120  # seconds
# By hand already: there is nothing left to do.
PREFETCHED = ("ping_pong", "small_result", "stencil", "stream_buffers")
WORDS = {"mapped": ("--rounds", "400")}  # some 0.2 s, as the others of programs/idle take


def check_act_idle(cases, bundle, advised):
    """Returns the idle figures of suite act."""
    runs = [(name, name, WORDS.get(name, ())) for name in IDLE] + [(f"{name}_by_hand", name, ("--hand",)) for name in PREFETCHED]
    contests = [Contest(title, {"bare": bare(bundle, name, *words), "act": acted(bundle, advised, name, *words)})
                for title, name, words in runs]
    hold(contests, 1 if bundle.sim else ROUNDS, LAST_START)
    figures = [figure(f"prefetch.idle.{each.name}.ratio", each.ratios("act", "bare", "work"), "ratio")
               for each in contests if enter(cases, PART, each, "work")]
    if figures:
        figures.append(figure("prefetch.idle.ratio.max", [max(each["value"] for each in figures)], "ratio"))
    return figures

"""Programs that need no prefetch must not pay for --act prefetch: rounds without and with it in turn, in one process, since
two processes differ by more."""

import json

from .by_hand import IDLE
from .cases import require
from .results import figure

PART = "act-idle"
ROUNDS = ("--rounds", "320")
# By hand already: there is nothing left to do.
PREFETCHED = ("ping_pong", "small_result", "stencil", "stream_buffers")


def check_act_idle(cases, bundle, advised):
    """Returns the idle figures of suite act."""
    runs = [(name, name, ()) for name in IDLE] + [(f"{name}_by_hand", name, ("--hand",)) for name in PREFETCHED]
    figures = []
    for title, name, words in runs:
        cases.check(PART, title, lambda t=title, c=[bundle.program(name), *words]: _in_turns(bundle, advised, t, c, figures))
    if figures:
        figures.append(figure("prefetch.idle.ratio.max", [max(each["value"] for each in figures)], "ratio"))
    return figures


def _in_turns(bundle, advised, title, command, figures):
    rounds = ("--rounds", "16") if bundle.sim else ROUNDS
    outcome, traces = advised.run_well([*command, "--turns", *rounds], ["--act", "prefetch", "-c", "cudaProfilerApi"])
    process = advised.report(traces[0])["process"]
    require(0 < process["recorded_ns"] < process["duration_ns"], "umadvisor was not switched off and on")
    ratios = next(json.loads(line)["ratios"] for line in outcome.stdout.splitlines() if line.startswith("{"))
    figures.append(figure(f"prefetch.idle.{title}.ratio", ratios, "ratio"))
    return f"{figures[-1]['value']} of bare"

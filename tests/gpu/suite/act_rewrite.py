"""What --act rewrite=all costs a program that fits: the time of a step, once all is where it belongs."""

import importlib.util
import sys

from .cases import require
from .contest import Contest, enter, hold
from .examples import EXAMPLES
from .frameworks import PROGRAMS
from .process import run
from .results import figure

PART = "act-rewrite"
ROUNDS = 7
LAST_START = 150  # seconds
FRAMEWORKS = ("torch_loop.py", "cupy_loop.py")


def check_act_rewrite(cases, bundle, advised):
    """Returns the rewrite figures of suite act."""
    contests = []
    for file in FRAMEWORKS:
        module = file.partition("_")[0]
        if bundle.sim or importlib.util.find_spec(module) is None:
            cases.not_run(PART, file, "not run on simcuda" if bundle.sim else f"python3 here has no {module}")
            continue
        contests.append(_contest(bundle, advised, module, [sys.executable, PROGRAMS / file, "--time"]))
    # Of an example its median: pageable copies, launches, graphs, allocations, each over device memory.
    contests += [_contest(bundle, advised, example.name.replace(" --order ", "_").replace("-", "_"),
                          [bundle.program(example.program), *example.arguments, "--time"])
                 for example in EXAMPLES if example.device_memory]
    hold(contests, 1 if bundle.sim else ROUNDS, LAST_START)
    figures = []
    for contest in contests:
        metric = next(iter(contest.times["bare"][0])) if contest.times["bare"] else ""  # each prints one
        if enter(cases, PART, contest, metric):
            figures.append(figure(f"rewrite_all.{contest.name}.ratio", contest.ratios("act", "bare", metric), "ratio"))
    if figures:
        figures.append(figure("rewrite_all.ratio.max", [max(each["value"] for each in figures)], "ratio"))
    return figures


def _contest(bundle, advised, name, command):
    def rewritten():
        outcome, traces = advised.run(command, ["--act", "rewrite=all"])
        if outcome.status == 0 and not contest.times["act"]:  # once is enough: a dump of a training run is long
            require(traces and advised.own_actions(traces[0], "Alloc") > 0, "umadvisor rewrote no allocation")
        return outcome
    contest = Contest(name, {"bare": lambda: run(command, bundle.environment()), "act": rewritten})
    return contest

"""What --act rewrite=all costs a program that fits: the time of a step, once all is where it belongs. Steps of PyTorch and
CuPy take longer in one process than in the next by more than that: they are timed in one, memory of either kind in turn."""

import importlib.util
import json
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
FRAMEWORKS = ("torch", "cupy")


def check_act_rewrite(cases, bundle, advised):
    """Returns the rewrite figures of suite act."""
    figures = []
    for module in FRAMEWORKS:
        if _has(cases, bundle, module):
            cases.check(PART, module, lambda m=module: _in_one_process(bundle, advised, m, figures))
    # Of an example its median: pageable copies, launches, graphs, allocations, each over device memory.
    contests = [_contest(bundle, advised, example.name.replace(" --order ", "_").replace("-", "_"),
                         [bundle.program(example.program), *example.arguments, "--time"])
                for example in EXAMPLES if example.device_memory]
    hold(contests, 1 if bundle.sim else ROUNDS, LAST_START)
    for contest in contests:
        metric = next(iter(contest.times["bare"][0])) if contest.times["bare"] else ""  # each prints one
        if enter(cases, PART, contest, metric):
            figures.append(figure(f"rewrite_all.{contest.name}.ratio", contest.ratios("act", "bare", metric), "ratio"))
    ratios = [each["value"] for each in figures if each["metric"].endswith(".ratio")]
    if ratios:
        figures.append(figure("rewrite_all.ratio.max", [max(ratios)], "ratio"))
    return figures


def _has(cases, bundle, module):
    why_not = ("not run on simcuda" if bundle.sim else
               f"python3 here has no {module}" if importlib.util.find_spec(module) is None else "")
    if why_not:
        cases.not_run(PART, module, why_not)
    return not why_not


def _in_one_process(bundle, advised, module, figures):
    command = [sys.executable, PROGRAMS / f"{module}_rewritten.py", bundle.library("liblimited_pool.so")]
    outcome, traces = advised.run_well(command, ["--act", "rewrite=all", "-c", "cudaProfilerApi"])
    made = [each for each in advised.records(traces[0]) if each["record"] == "Alloc" and each["status"] == 0]
    kinds = {(each["memory"], each["origin"]) for each in made}
    require({("managed", "umadvisor"), ("device", "program")} <= kinds, f"allocations are {kinds}")
    answer = json.loads(outcome.stdout.splitlines()[-1])
    figures += [figure(f"rewrite_all.{module}.ratio", answer["rewritten"], "ratio"),
                figure(f"rewrite_all.{module}.control", answer["control"], "ratio")]
    rewritten, control = (each["value"] for each in figures[-2:])
    return f"a step {answer['plain_us']:.0f} us; rewritten {rewritten} of that, another like it {control}"


def _contest(bundle, advised, name, command):
    def rewritten():
        outcome, traces = advised.run(command, ["--act", "rewrite=all"])
        if outcome.status == 0 and not contest.times["act"]:  # once is enough: a dump of a training run is long
            require(traces and advised.own_actions(traces[0], "Alloc") > 0, "umadvisor rewrote no allocation")
        return outcome
    contest = Contest(name, {"bare": lambda: run(command, bundle.environment()), "act": rewritten})
    return contest

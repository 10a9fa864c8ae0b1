"""What the modes of --act bring, against the same repaired by hand, and what they cost where there is nothing to repair. Suite
`repairs`; tools/bench/repairs measures programs that it is given."""

import re
import sys

from . import act_gains, differential, live_training, out_of_memory
from .cases import require
from .examples import EXAMPLES
from .process import run
from .repair import ELAPSED, Measured, Repair, elapsed
from .results import figure, times

PART = "repairs"
ROUNDS = 5
STEPS = 400_000      # of random programs, all modes together
FEWEST_MS = 10.0     # programs that run shorter say nothing about the time that a mode costs
MEDIAN = re.compile(r"median us:?\s*([0-9.]+)")
PROGRAMS = "repairs_programs"
HABITS = ("reuse", "pinned", "register", "pools", "prefetch", "scalar")
# metric, habits of repairs_programs, mode
OF_HAND = (("reuse.of_hand.min", ("reuse",), "reuse"), ("pinned.of_hand.min", ("pinned", "register"), "pinned"),
           ("pools.of_hand", ("pools",), "pools"), ("prefetch.of_hand", ("prefetch",), "join"), ("scalar.of_hand", ("scalar",), "auto"))
TRAINING = "import torch_training as t; t.prepare(); print('elapsed ms:', t.Training().block(300, 60) / 1e3)"


class Repairs:
    """The measurements, each a row of the table; figures gather in `figures`."""

    def __init__(self, cases, bundle, rounds):
        self.cases, self.bundle, self.rounds = cases, bundle, rounds
        self.figures = []
        # The simulated card has room for all of them.
        self.environment = bundle.environment(**({"SIMCUDA_CONFIG": "capacity=4G"} if bundle.sim else {}))

    def measure(self, name, command, mode, **more):
        measured = Measured(Repair(name, command, mode), self.bundle, self.rounds, self.environment, **more)
        require(measured.differs == 0, f"{name}: output differs under --act {mode} in {measured.differs} of {self.rounds} rounds")
        self.figures += measured.figures()
        return measured

    def habit(self, name, mode):
        return self.measure(name, (self.bundle.program(PROGRAMS), name), mode)

    def of_hand(self, metric, habits, mode):
        measured = [self.habit(name, mode) for name in habits]
        if metric != f"{habits[0]}.of_hand":
            self.figures.append(figure(metric, [min(each.of_hand for each in measured)], "ratio"))
        return "; ".join(f"{each.repair.name}: {each.text()}" for each in measured)

    def batch(self):
        measured = self.measure("uploads", (self.bundle.program("small_uploads"),), "batch", forms=("bare", "act"))
        self.figures.append(figure("batch.ratio", [measured.ratio("act", "bare")], "ratio"))
        return measured.text()

    def training(self):
        command = (sys.executable, "-c", TRAINING)
        folder = str(live_training.PROGRAM.parent)
        measured = Measured(Repair("training", command, "auto"), self.bundle, self.rounds,
                            self.bundle.environment(PYTHONPATH=folder), forms=("recorded", "act"))
        self.figures.append(figure("auto.torch.ratio", [measured.ratio("act", "recorded")], "ratio"))
        return measured.text()

    def pool_reuse(self):
        """Microseconds of the calls that get from a pool what it had before a wait."""
        command = (self.bundle.program(PROGRAMS), "pool_refill")
        measured = Measured(Repair("pool_refill", command, "pools"), self.bundle, self.rounds, self.environment, time_of=of_call)
        self.figures.append(figure("pool.reuse.us", measured.times["act"], "us"))
        return ", ".join(f"{form} {measured.median(form):.1f} us" for form in measured.times)

    def worst(self):
        """The greatest time under `auto` over that of a run that is only recorded."""
        ratios, short = {}, 0
        for name, command in _programs(self.bundle):
            first = run(command, self.environment)
            require(first.status == 0, f"{name}: {first.explain()}")
            if own_time(first) < FEWEST_MS:
                short += 1
                continue
            measured = Measured(Repair(name, command, "auto"), self.bundle, self.rounds, self.environment,
                                forms=("recorded", "act"), time_of=own_time)
            ratios[name] = measured.ratio("act", "recorded")
        require(ratios, f"no program ran {FEWEST_MS:.0f} ms")
        worst = max(ratios, key=ratios.get)
        self.figures += [figure("auto.worst", [ratios[worst]], "ratio"), figure("auto.programs.ratio", ratios.values(), "ratio"),
                         *({"program": name, "auto_over_recorded": round(ratio, 3)} for name, ratio in ratios.items())]
        return f"{worst} {ratios[worst]:.3f}, of {len(ratios)} programs; {short} run less than {FEWEST_MS:.0f} ms"

    def out_of_memory(self):
        said = []
        figures = out_of_memory.measure(self.bundle, said.append)
        self.figures += figures
        require(figures[0]["value"] == 0, said[0])
        return said[0]

    def differential(self, steps):
        length = max(1, min(differential.LENGTH, steps // len(differential.modes(self.bundle))))
        tally = differential.measure(self.bundle, steps=steps, length=length)
        self.figures += tally.figures()
        require(not tally.mismatches, "; ".join(map(str, tally.mismatches)))
        return f"{tally.steps} steps"


def of_call(outcome):
    """Microseconds, the median of the calls that a program has timed."""
    return float(MEDIAN.search(outcome.stdout).group(1))


def own_time(outcome):
    """Milliseconds of the program's work, where it says them; else of the whole run."""
    if ELAPSED.search(outcome.stdout):
        return elapsed(outcome)
    return times(outcome).get("work", outcome.seconds * 1e6) / 1e3


def _programs(bundle):
    """What is compared under `auto`: all that the bundle has of programs that end by themselves and say what they took."""
    for example in EXAMPLES:
        if example.status == 0:
            yield example.name, (bundle.program(example.program), *example.arguments)
    for program in act_gains.PROGRAMS:
        if program.devices == 1 and not bundle.sim:  # minutes on simcuda
            yield program.name, tuple(program.command(bundle))
    for name in HABITS:
        yield name, (bundle.program(PROGRAMS), name)
    yield "small_uploads", (bundle.program("small_uploads"),)


def check_repairs(cases, bundle, rounds, steps, texts=("",)):
    """Returns the figures of suite repairs, of those measurements whose name holds one of `texts`."""
    repairs = Repairs(cases, bundle, rounds)
    bodies = {metric: lambda m=metric, h=habits, a=mode: repairs.of_hand(m, h, a) for metric, habits, mode in OF_HAND}
    bodies.update({"batch.ratio": repairs.batch, "auto.torch.ratio": repairs.training, "pool.reuse.us": repairs.pool_reuse,
                   "auto.worst": repairs.worst, "oom.earlier": repairs.out_of_memory,
                   "differential.mismatches": lambda: repairs.differential(steps)})
    for name, body in bodies.items():
        if not any(text in name for text in texts):
            continue
        why_not = live_training.why_not(bundle) if name == "auto.torch.ratio" else ""
        if why_not:
            cases.not_run(PART, name, why_not)
        else:
            cases.check(PART, name, body)
    return repairs.figures

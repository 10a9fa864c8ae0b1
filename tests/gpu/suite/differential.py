"""Random programs, bare and under each --act: every answer and every byte that they read back has to be the same."""

import concurrent.futures
import itertools
import os
import shutil
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from .cases import require
from .process import run
from .results import figure

PART = "differential"
PROGRAM = "random_program"
LENGTH = 20000       # steps of one program
TIME_LIMIT = 300     # seconds, of one run
ENOUGH = 10          # mismatches, to look into
SHOWN = 6            # reads of a thread that differed
# So much managed memory at once outgrows this card, and what has to lie on the card does not.
SMALL_CARD = "20M"
# Arrays, which stay on the card, have to fit it: it only looks full.
SPILL = "rewrite=spill --pretend-memory 1M"

ACTIONS = ("prefetch", "relieve", "rewrite=all", "stage", "auto,rewrite=all", "reuse,pools", "pinned,join,skip", "batch", "auto")


@dataclass(frozen=True)
class Mode:
    act: str            # of --act, and what goes with it; empty: only recorded
    card: str = ""      # memory of the simulated card; empty: what a bundle's programs always have
    late: bool = False  # the simulated driver carries work out as late as it may

    def __str__(self):
        return (self.act or "recorded") + (f", card of {self.card}" if self.card else "") + ", late" * self.late


def modes(bundle):
    simulated = (Mode("rewrite=64K+"), Mode("", SMALL_CARD), Mode("prefetch", SMALL_CARD), Mode(SPILL),
                 *(Mode(act, late=True) for act in ("", *ACTIONS)))
    return (*(Mode(act) for act in ACTIONS), *(simulated if bundle.sim else ()))


def late_driver(bundle):
    """What makes a simulated bundle's programs take the driver that carries work out late."""
    return {"LD_LIBRARY_PATH": ":".join(str(bundle.library(name)) for name in ("simcuda-late", "simcuda"))}


@dataclass
class Tally:
    runs: list = field(default_factory=list)        # steps of each; threads append to it
    mismatches: list = field(default_factory=list)

    @property
    def steps(self):
        return sum(self.runs)

    def figures(self):
        return [figure("differential.steps", [self.steps], "1"),
                figure("differential.mismatches", [len(self.mismatches)], "1")]


class Differential:
    """Runs programs in a folder of its own, gone when it is closed. Several threads may call it."""

    def __init__(self, bundle, length=LENGTH, mib=64):
        self.bundle, self.length, self.mib = bundle, length, mib
        self._folder = Path(tempfile.mkdtemp(prefix="umadvisor-differential-"))
        self._runs = itertools.count()

    def close(self):
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, seed, mode=None):
        """One program; mode None: bare."""
        trace = self._folder / f"{next(self._runs)}.umtrace"
        command = [self.bundle.program(PROGRAM), "--seed", seed, "--steps", self.length, "--mib", self.mib, "--tell-steps"]
        extra = {}
        if mode:
            act = ["--act", *mode.act.split()] if mode.act else []
            command = [self.bundle.umadvisor, "run", "-q", "--no-calibrate", "-f", "-o", trace, *act, "--", *command]
            if mode.card:
                extra["SIMCUDA_CONFIG"] = f"capacity={mode.card}"
            if mode.late:
                extra.update(late_driver(self.bundle))
        outcome = run(command, self.bundle.environment(**extra), TIME_LIMIT)
        trace.unlink(missing_ok=True)
        return outcome

    def compare(self, seed, tally):
        """One seed, bare and in each mode."""
        bare = self.run(seed)
        if bare.status != 0:
            tally.mismatches.append({"seed": seed, "mode": "bare", "told": bare.explain()})
            return
        for mode in modes(self.bundle):
            outcome = self.run(seed, mode)
            if (outcome.status, outcome.stdout) != (bare.status, bare.stdout):
                tally.mismatches.append({"seed": seed, "mode": str(mode), "steps": self.length,
                                         "told": outcome.explain(), "first": first_difference(bare, outcome)})
            tally.runs.append(self.length)


def first_difference(bare, other):
    """The first steps of each of the program's threads that read something else, if none that was answered something
    else, in words."""
    found = []
    theirs = steps_of(other)
    for worker, lines in sorted(steps_of(bare).items()):
        names = {line.step: line.name for line in lines}
        differing = [pair for pair in zip(lines, theirs[worker]) if pair[0] != pair[1]]
        reads = [pair for pair in differing if pair[0].about][:SHOWN]
        found += [f"thread {worker}, step {ours.step}, {ours.name}{ours.compare(other, names)}"
                  for ours, other in reads or differing[:1]]
    return "; ".join(found) or "nothing that a step brought"


@dataclass(frozen=True)
class Step:
    step: str
    name: str
    digest: str
    about: str          # "BYTES of BUFFER, used in STEP STEP ..."; empty: it read nothing

    def compare(self, other, names):
        if not self.about:
            return ""
        uses = ", ".join(f"{step} {names.get(step, '')}" for step in self.about.partition(" used in ")[2].split())
        return f" {self.about} ({uses}); instead {other.about.partition(' of ')[0]}"


def steps_of(outcome):
    """By thread."""
    steps = defaultdict(list)
    for line in outcome.stdout.splitlines():
        worker, *words = line.split(" ", 4)
        if worker.isdigit() and len(words) == 4:
            steps[worker].append(Step(*words))
    return steps


def measure(bundle, seconds=None, steps=None, first_seed=1, length=LENGTH, jobs=None):
    """Seed after seed until there were so many `steps`, all modes together, so many `seconds` have passed, or enough
    is wrong."""
    tally, started = Tally(), time.monotonic()
    seeds = itertools.count(first_seed)
    # More than one at a time finds what only comes of being interrupted; on a GPU they would wait for one another.
    jobs = jobs or (len(os.sched_getaffinity(0)) if bundle.sim else 1)
    differential = Differential(bundle, length)

    def work():
        while (len(tally.mismatches) < ENOUGH and (steps is None or tally.steps < steps)
               and (seconds is None or time.monotonic() - started < seconds)):
            differential.compare(next(seeds), tally)

    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for done in [pool.submit(work) for _ in range(jobs)]:
                done.result()
    finally:
        differential.close()
    return tally


def check_differential(cases, bundle, seconds):
    """Returns the figures of suite differential."""
    figures = []

    def body():
        tally = measure(bundle, seconds)
        figures.extend(tally.figures())
        require(not tally.mismatches, "; ".join(map(str, tally.mismatches)))
        return f"{tally.steps} steps"

    cases.check(PART, f"{PROGRAM}: the same in each mode", body)
    return figures

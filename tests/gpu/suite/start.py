"""What umadvisor adds to a program that is over before it has done anything: its start and its end. Bare, recorded and
repaired in turn, whole processes."""

from .cases import require
from .process import run
from .results import figure

PART = "start"
ROUNDS = 25
# Little memory, a few calls; with and without managed memory.
PROGRAMS = {"copies": ("pageable_copies", "--mib", "1"), "managed": ("vector_add_managed", "--mib", "1")}
WAYS = {"recorded": (), "acted": ("--act", "auto")}


def check_start(cases, bundle, advised):
    """Returns the figures of suite start: milliseconds of a bare run, and what the other ways add."""
    figures = []
    for name, (program, *arguments) in PROGRAMS.items():
        cases.check(PART, name, lambda n=name, c=[bundle.program(program), *arguments]: _measure(bundle, advised, n, c, figures))
    return figures


def _measure(bundle, advised, name, command, figures):
    def seconds(way):
        outcome = (run(command, bundle.environment()) if way == "bare" else advised.run(command, ["-q", *WAYS[way]])[0])
        require(outcome.status == 0, f"{way}: {outcome.explain()}")
        return outcome.seconds
    ways = ("bare", *WAYS)
    held = {way: [] for way in ways}
    for number in range(1 + (1 if bundle.sim else ROUNDS)):
        for way in (reversed(ways) if number % 2 else ways):
            taken = seconds(way)
            if number > 0:  # the first ones read the files
                held[way].append(taken)
    figures.append(figure(f"start.{name}.bare.ms", [taken * 1e3 for taken in held["bare"]], "ms"))
    for way in WAYS:
        figures.append(figure(f"start.{name}.{way}.added.ms",
                              [(taken - bare) * 1e3 for taken, bare in zip(held[way], held["bare"])], "ms"))
    return ", ".join(f"{each['metric'].removeprefix('start.')} {each['value']}" for each in figures[-len(ways):])

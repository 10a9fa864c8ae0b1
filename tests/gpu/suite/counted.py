"""A program bare and under --act, each time with a count of what its managed memory did."""

from dataclasses import dataclass

from .cases import require
from .counter import counter
from .process import run
from .results import result_text


@dataclass
class Counted:
    """One run: what it printed, its unified-memory counts, and the traces it left."""

    text: str
    counts: dict
    traces: list


def count_bare(bundle, command):
    return _count(bundle, "bare", lambda environment: (run(command, environment), []))


def count_both(bundle, advised, command, act):
    """Bare, then under --act: both must print the same."""
    bare = count_bare(bundle, command)
    acted = _count(bundle, f"--act {act}", lambda environment: advised.run(command, ["--act", act], environment))
    require(acted.text == bare.text, "output differs from the bare run")
    return bare, acted


def _count(bundle, way, body):
    beside = counter(bundle, unified_memory=True)
    outcome, traces = body(bundle.environment(**beside.environment))
    require(outcome.status == 0, f"{way}: {outcome.explain()}")
    return Counted(result_text(outcome), beside.read(), traces)


def changes(bare, acted, *names):
    """The counts of these names, in words."""
    return ", ".join(f"{name} {bare.counts[name]} -> {acted.counts[name]}" for name in names)

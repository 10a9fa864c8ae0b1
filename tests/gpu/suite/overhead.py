"""What recording adds to a launch: the benchmark bare, under a counting-only wrapper, and recorded, interleaved."""

import json
import tempfile
from pathlib import Path

from .cases import require
from .process import run
from .results import figure

MODES = ("bare", "count", "record", "stacks")


class Measurement:
    """One launch benchmark; `median` nanoseconds a launch, trace bytes where there is a trace."""

    def __init__(self, bundle, launches, timeout=300):
        self.bundle = bundle
        self.launches = launches
        self.timeout = timeout

    def run(self, mode, launches=None):
        """Returns (median ns of a launch call, launches made, bytes of trace)."""
        with tempfile.TemporaryDirectory(prefix="umadvisor-overhead-") as folder:
            count, trace = Path(folder) / "count", Path(folder) / "run.umtrace"
            command = [self.bundle.program("launches"), "--launches", str(launches or self.launches)]
            environment = self.bundle.environment()
            if mode == "count":
                environment.update(LD_PRELOAD=str(self.bundle.library("libcount_only.so")), COUNT_ONLY=str(count))
            elif mode != "bare":
                environment.update(LD_PRELOAD=str(self.bundle.library("libumadvisor.so")), UMADVISOR_QUIET="1",
                                   UMADVISOR_OUTPUT=str(trace))
                if mode == "record":
                    environment["UMADVISOR_STACKS"] = "off"
            outcome = run(command, environment, self.timeout)
            require(outcome.status == 0, f"{mode}: {outcome.explain()}")
            answer = json.loads(outcome.stdout)
            size = sum(path.stat().st_size for path in Path(folder).glob("*.umtrace"))
            if mode == "count":
                counted = int(count.read_text()) if count.exists() else 0
                require(counted >= answer["launches"], f"the counting wrapper saw {counted} of {answer['launches']}")
            elif mode != "bare":
                require(size >= answer["launches"], f"{mode}: {size} B of trace for {answer['launches']} launches")
            return answer["median_ns"], answer["launches"], size


def measure(bundle, launches, rounds, say=lambda text: None):
    """Figures of suite overhead. Each round runs every mode once; what is added is taken within a round."""
    bench = Measurement(bundle, launches)
    # A short run of the same program: what a trace holds apart from its launches.
    _, few, base = bench.run("record", 1024)
    figures, added, bare, sizes, stack_sizes = [], {mode: [] for mode in MODES[1:]}, [], [], []
    for number in range(rounds):
        # Each round starts elsewhere, so that no mode always follows the same one.
        start = number % len(MODES)
        medians = {}
        for mode in MODES[start:] + MODES[:start]:
            medians[mode], made, size = bench.run(mode)
            require(made > few, f"{launches} launches are too few to measure by")
            if mode == "record":
                sizes.append((size - base) / (made - few))
            elif mode == "stacks":
                stack_sizes.append((size - base) / (made - few))
        bare.append(medians["bare"])
        for mode in added:
            added[mode].append(medians[mode] - medians["bare"])
        say("  ".join(f"{mode} {medians[mode]:.1f}" for mode in MODES) + " ns a launch")
    figures.append(figure("launch.bare.ns", bare, "ns"))
    figures += [figure(f"launch.added.{mode}.ns", added[mode], "ns") for mode in added]
    figures.append(figure("launch.trace_bytes", sizes, "B"))
    figures.append(figure("launch.trace_bytes.stacks", stack_sizes, "B"))
    return figures

"""What recording adds to a call. Bare, paused ("off") and recorded calls alternate inside one process (call_costs), since
two processes differ by more than what is to be measured; beside it Nsight Systems, and PyTorch's own profiler."""

import glob
import json
import os
import shutil
import statistics
import struct
import sys
import tempfile
from pathlib import Path

from .cases import require
from .process import run
from .results import figure

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
ROUNDS = 200  # batches of each mode, in turn
DEEP = 40  # frames of a stack, beside those of the benchmark itself
OTHER_CODE = 512  # KiB run before each call where the driver is a simulated one, which leaves our own code in the caches
OPERATIONS = ("launch", "launch-structure", "copy", "allocation", "event", "graph-launch")
NSYS = ("/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys", "/opt/nvidia/nsight-systems/*/bin/nsys",
        "/usr/local/cuda*/nsight-compute-*/host/target-linux-*/nsys", "/usr/local/cuda*/bin/nsys")
# The clock that stamped the records: a byte of the trace's header (trace/FORMAT.md). Two readings of it are the floor of
# what recording a call can cost.
CHUNK_MAGIC = 0x4B434D55
CLOCK_OFFSET, CLOCKS = 36, {1: "CLOCK_MONOTONIC", 2: "TSC", 3: "simulated"}


class CallCosts:
    """Runs of the benchmark under the shim; the answer is what it printed."""

    def __init__(self, bundle, rounds, timeout=120):
        self.bundle = bundle
        self.rounds = rounds
        self.timeout = timeout

    def run(self, operation="launch", threads=1, depth=12, stacks="off", rounds=None, evict=0, evict_code=0, preload=True,
            under=()):
        with tempfile.TemporaryDirectory(prefix="umadvisor-overhead-") as folder:
            trace = Path(folder) / "run.umtrace"
            environment = self.bundle.environment()
            if preload:
                environment.update(LD_PRELOAD=str(self.bundle.library("libumadvisor.so")), UMADVISOR_QUIET="1",
                                   UMADVISOR_OUTPUT=str(trace), UMADVISOR_STACKS=stacks, UMADVISOR_CAPTURE_RANGE="1")
            command = [*under, self.bundle.program("call_costs"), "--operation", operation, "--threads", threads,
                       "--depth", depth, "--rounds", rounds or self.rounds, "--evict", evict, "--evict-code", evict_code]
            outcome = run(command, environment, self.timeout, folder)
            lines = [line for line in outcome.stdout.splitlines() if line.startswith("{")]
            require(lines and (outcome.status == 0 or under), f"{operation}: {outcome.explain()}")
            answer = json.loads(lines[-1])
            require(not preload or trace.exists(), f"{operation}: no trace was written")
            if preload:
                answer["clock"] = CLOCKS.get(trace.read_bytes()[CLOCK_OFFSET], "unknown")
            return answer


def spread(metric, answers, mode, what="added"):
    """The figure of one mode over repetitions; with one repetition its range is that of the middle half of rounds."""
    made = figure(metric, [answer[mode][what] for answer in answers], "ns")
    if len(answers) == 1 and f"{what}_low" in answers[0][mode]:
        made.update(n=answers[0]["rounds"], min=answers[0][mode][f"{what}_low"], max=answers[0][mode][f"{what}_high"])
    return made


def call_figures(costs, say):
    """All kinds of call with one thread and without stacks; launches with stacks of 12 and of 40 frames."""
    figures = []
    for operation in OPERATIONS:
        answer = costs.run(operation)
        if "skipped" in answer:
            say(f"{operation}: not measured: {answer['skipped']}")
            continue
        name = operation.replace("-", "_")
        figures.append(spread(f"{name}.bare.ns", [answer], "bare", "median"))
        figures.append(spread(f"{name}.bare.p99.ns", [answer], "bare", "p99"))
        figures.append(spread(f"{name}.added.off.ns", [answer], "off"))
        figures.append(spread(f"{name}.added.record.ns", [answer], "record"))
        figures.append(spread(f"{name}.record.p50.added.ns", [answer], "record", "added_p50"))
        figures.append(spread(f"{name}.record.p99.ns", [answer], "record", "p99"))
        say(f"{operation}: bare {answer['bare']['median']}, added off {answer['off']['added']}, "
            f"recording {answer['record']['added']} ns (clock: {answer['clock']})")
    for depth in (12, DEEP):
        answer = costs.run(depth=depth, stacks="64")
        figures.append(spread(f"launch.added.stacks{depth}.ns", [answer], "record"))
        figures.append(spread(f"launch.record.stacks{depth}.p50.added.ns", [answer], "record", "added_p50"))
        say(f"launch, stacks of {depth} frames: recording adds {answer['record']['added']} ns")
    # Without umadvisor the three modes are the same calls: what this method takes for a difference where none is.
    answer = costs.run(preload=False)
    figures.append(spread("launch.added.nothing.ns", [answer], "record"))
    return figures


def thread_figures(costs, say, threads=16):
    """One thread and many: how much slower a launch is recorded than bare, and how that changes."""
    one, many = costs.run(), costs.run(threads=threads)
    slowdown = [answer["record"]["median"] / answer["bare"]["median"] for answer in (one, many)]
    say(f"{threads} threads: bare {many['bare']['median']}, recording adds {many['record']['added']} ns; "
        f"one: {one['bare']['median']}, {one['record']['added']} ns")
    return [spread(f"threads{threads}.bare.ns", [many], "bare", "median"),
            spread(f"threads{threads}.added.off.ns", [many], "off"),
            spread(f"threads{threads}.added.record.ns", [many], "record"),
            figure(f"threads{threads}.added.ratio", [many["record"]["added"] / one["record"]["added"]], "ratio"),
            figure(f"threads{threads}.slowdown.ratio", [slowdown[1] / slowdown[0]], "ratio")]


def used_bytes(trace):
    """What the chunks of a trace hold; the file itself grows in large steps (trace/layout.hpp)."""
    start, size = struct.unpack_from("<II", trace, 16)
    used = 0
    for at in range(start, len(trace) - 64, size):
        magic, committed = struct.unpack_from("<I", trace, at)[0], struct.unpack_from("<I", trace, at + 24)[0]
        used += 64 + committed if magic == CHUNK_MAGIC else 0
    return used


def byte_figures(bundle):
    """Bytes of trace a launch in a loop: a long run less a short one of the same program."""
    few, many = 1024, 262144
    figures = []
    for metric, stacks in (("launch.trace_bytes", "off"), ("launch.trace_bytes.stacks", "64")):
        sizes = []
        for launches in (few, many):
            with tempfile.TemporaryDirectory(prefix="umadvisor-overhead-") as folder:
                environment = bundle.environment(
                    LD_PRELOAD=str(bundle.library("libumadvisor.so")), UMADVISOR_QUIET="1", UMADVISOR_STACKS=stacks,
                    UMADVISOR_OUTPUT=str(Path(folder) / "run.umtrace"))
                outcome = run([bundle.program("launches"), "--launches", launches], environment, 60)
                require(outcome.status == 0, f"launches: {outcome.explain()}")
                made = json.loads(outcome.stdout)["launches"]
                sizes.append((made, sum(used_bytes(path.read_bytes()) for path in Path(folder).glob("*.umtrace"))))
        figures.append(figure(metric, [(sizes[1][1] - sizes[0][1]) / (sizes[1][0] - sizes[0][0])], "B"))
    return figures


def blocking_figures(bundle, say, launches=4000, nanoseconds=50_000):
    """What a report says of the time in launches that find the driver's queue full, against the program's own stopwatch,
    which sees the runtime's part of each launch too."""
    with tempfile.TemporaryDirectory(prefix="umadvisor-overhead-") as folder:
        trace = Path(folder) / "run.umtrace"
        environment = bundle.environment(LD_PRELOAD=str(bundle.library("libumadvisor.so")), UMADVISOR_QUIET="1",
                                         UMADVISOR_OUTPUT=str(trace))
        outcome = run([bundle.test_program("launch_times", "cu"), launches, nanoseconds], environment, 60)
        require(outcome.status == 0, f"launch_times: {outcome.explain()}")
        report = run([bundle.umadvisor, "report", "--json", trace], bundle.environment())
        require(report.status == 0, f"umadvisor report: {report.explain()}")
    inside = float(outcome.stdout.split()[1])
    told = sum(call["time_ns"] for call in json.loads(report.stdout)["calls"] if "Launch" in call["entry"])
    say(f"{launches} launches of {nanoseconds} ns: {inside / 1e6:.1f} ms by the program, {told / 1e6:.1f} ms by the report")
    return [figure("launch.blocking.told.ratio", [told / inside], "ratio")]


def nsys():
    """An nsys on this machine; Nsight Compute carries one that collects, though its report step fails."""
    found = shutil.which("nsys")
    return found or next((path for pattern in NSYS for path in sorted(glob.glob(pattern), reverse=True)
                          if os.access(path, os.X_OK)), None)


def nsys_figures(costs, say, pairs=3):
    """What Nsight Systems adds: the same program without umadvisor, bare and collected, in turn."""
    tool = nsys()
    if tool is None:
        say("no nsys on this machine")
        return []
    added = []
    for _ in range(pairs):
        bare = costs.run(preload=False, rounds=40)["bare"]["median"]
        with tempfile.TemporaryDirectory(prefix="umadvisor-nsys-") as folder:
            under = (tool, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-o", f"{folder}/collected")
            added.append(costs.run(preload=False, rounds=40, under=under)["bare"]["median"] - bare)
    say(f"nsys adds {', '.join(f'{value:.0f}' for value in added)} ns")
    return [figure("launch.added.nsys.ns", added, "ns")]


# What is left out of recording, to see what it takes of a training step.
TORCH_PARTS = {"": {}, ".no_stacks": {"UMADVISOR_STACKS": "off"}, ".no_python": {"UMADVISOR_PYTHON": "0"},
               ".no_device_time": {"UMADVISOR_DEVICE_TIME": "0"},
               ".launches_only": {"UMADVISOR_STACKS": "off", "UMADVISOR_PYTHON": "0", "UMADVISOR_DEVICE_TIME": "0"}}


def torch_steps(bundle, how, setting=None):
    """What torch_steps.py prints."""
    with tempfile.TemporaryDirectory(prefix="umadvisor-torch-") as folder:
        environment = bundle.environment()
        if how == "recorded":
            environment.update(LD_PRELOAD=str(bundle.library("libumadvisor.so")), UMADVISOR_QUIET="1",
                               UMADVISOR_OUTPUT=str(Path(folder) / "run.umtrace"), UMADVISOR_CAPTURE_RANGE="1")
        outcome = run([sys.executable, PROGRAMS / "torch_steps.py", how], environment | (setting or {}), 120, folder)
        require(outcome.status == 0, f"torch_steps.py {how}: {outcome.explain()}")
        require(how != "recorded" or list(Path(folder).glob("*.umtrace")), "no trace was written")
        return json.loads(outcome.stdout.splitlines()[-1])


def torch_figures(bundle, say):
    """A PyTorch training step, in alternating blocks of one process: plain and recorded, plain and profiled."""
    if bundle.sim or run([sys.executable, "-c", "import torch"], bundle.environment()).status != 0:
        say("no PyTorch here")
        return []
    figures = []
    for part, setting in TORCH_PARTS.items():
        answer = torch_steps(bundle, "recorded", setting)
        if not part:
            figures.append(figure("torch.step.plain.us", [answer["plain_us"]], "us"))
        figures.append(figure(f"torch.step.ratio{part}", answer["ratios"], "ratio"))
        say(f"PyTorch step, recorded{part}: {statistics.median(answer['ratios']):.4f} of plain, {answer['plain_us']:.0f} us")
    answer = torch_steps(bundle, "profiled")
    figures.append(figure("torch.step.ratio.profiler", answer["ratios"], "ratio"))
    figures.append(figure("torch.step.launches", [answer["launches"]], "1"))
    say(f"PyTorch step, profiled: {statistics.median(answer['ratios']):.4f} of plain, {answer['plain_us']:.0f} us")
    return figures


def cold_figures(costs, say):
    """Launches on simcuda after other code has run, as a real driver's does: to be held against others of one machine."""
    if not costs.bundle.sim:
        return []
    figures = []
    for metric, stacks in (("launch.cold", "off"), ("launch.cold.stacks12", "64")):
        answer = costs.run(stacks=stacks, evict_code=OTHER_CODE)
        figures.append(spread(f"{metric}.p50.added.ns", [answer], "record", "added_p50"))
        say(f"launch after {OTHER_CODE} KiB of other code, stacks {stacks}: recording adds {answer['record']['added_p50']} ns")
    return figures


def instruction_figures(bundle, say):
    """Instructions added to a launch on simcuda, and the lines of the cache that they lie in: the same numbers on every
    machine, where times are not."""
    if not bundle.sim:
        return []
    figures = []
    for metric, stacks in (("launch.sim.instructions", "off"), ("launch.sim.instructions.stacks12", "64")):
        with tempfile.TemporaryDirectory(prefix="umadvisor-overhead-") as folder:
            environment = bundle.environment(
                LD_PRELOAD=str(bundle.library("libumadvisor.so")), UMADVISOR_QUIET="1", UMADVISOR_STACKS=stacks,
                UMADVISOR_OUTPUT=str(Path(folder) / "run.umtrace"), UMADVISOR_CAPTURE_RANGE="1",
                UMADVISOR_DEVICE_TIME="0")
            outcome = run([bundle.program("instructions")], environment, 120)
            require(outcome.status == 0, f"instructions: {outcome.explain()}")
            answer = json.loads(outcome.stdout)
        figures.append(figure(metric, [answer["added"]], "1"))
        figures.append(figure(metric.replace("instructions", "lines"), [answer["added_lines"]], "1"))
        say(f"launch, stacks {stacks}: {answer['added']} instructions in {answer['added_lines']} lines of the cache, "
            f"{answer['added_off']} while paused")
    return figures


def measure(bundle, rounds, say=lambda text: None):
    """Figures of suite overhead."""
    costs = CallCosts(bundle, rounds)
    return [*call_figures(costs, say), *thread_figures(costs, say), *byte_figures(bundle), *blocking_figures(bundle, say),
            *nsys_figures(costs, say), *torch_figures(bundle, say), *cold_figures(costs, say),
            *instruction_figures(bundle, say)]

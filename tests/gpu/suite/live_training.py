"""A PyTorch training beside umadvisor in standby: against a bare one, and after it has been recorded."""

import json
import statistics
import sys
from pathlib import Path

from .cases import require
from .interval import figure_of
from .live_process import Live
from .live_attach import ended
from .process import run

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "torch_live.py"
BLOCK_S = 0.25                       # of steps, whose median is one value
GROUPS, BLOCKS = 3, 24               # processes of each kind, and blocks of each process in turn
REPEATS, BEFORE_S, RECORDED_S = 3, 3, 10  # after a recording as long as it


def why_not(bundle):
    """Why there is no training here; empty: there is one."""
    if bundle.sim:
        return "no PyTorch on simcuda"
    return "" if run([sys.executable, "-c", "import torch"], bundle.environment()).status == 0 else "no PyTorch here"


class Training:
    """One process of PROGRAM."""

    def __init__(self, live, shim=True):
        self.process = live.start([sys.executable, PROGRAM], shim)

    def is_ready(self):
        require(self.process.stdout.readline() == "ready\n", "the training did not begin")

    def begin(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()

    def steps(self):
        line = self.process.stdout.readline()
        require(line, "the training ended")
        return json.loads(line)

    def block(self):
        """Median microseconds of a step. The first ones find the machine as another process has left it."""
        self.begin(BLOCK_S)
        steps = self.steps()
        return statistics.median(steps[len(steps) // 5:])

    def blocks(self, seconds):
        return [self.block() for _ in range(round(seconds / BLOCK_S))]


def standby(bundle, say, quick):
    """Step under standby over bare. Two processes differ by more than standby costs, so a second bare one says by how much: all
    three train in turn, and several such threes are made."""
    ratios, nothing, plain = [], [], []
    for _ in range(1 if quick else GROUPS):
        with Live(bundle) as live:
            three = [Training(live, shim) for shim in (False, True, False)]
            for each in three:
                each.is_ready()
            rounds = []
            for number in range(4 if quick else BLOCKS):
                order = range(3) if number % 2 == 0 else range(2, -1, -1)
                times = {which: three[which].block() for which in order}
                rounds.append([times[which] for which in range(3)])
        plain += [bare for bare, _, _ in rounds]
        ratios.append([watched / ((bare + other) / 2) for bare, watched, other in rounds])
        nothing.append([other / bare for bare, _, other in rounds])
    say(f"PyTorch step: bare {statistics.median(plain):.0f} us, standby over bare "
        f"{', '.join(f'{statistics.median(each):.4f}' for each in ratios)}, bare over bare "
        f"{', '.join(f'{statistics.median(each):.4f}' for each in nothing)}")
    return [figure_of("standby.torch.ratio", ratios, "ratio"), figure_of("standby.torch.nothing.ratio", nothing, "ratio"),
            figure_of("standby.torch.bare.us", [plain], "us")]


def after(bundle, say, quick):
    """Steps before, during and after recordings of one process, and how long a report takes to come once one is stopped."""
    before_s, recorded_s = (1, 1) if quick else (BEFORE_S, RECORDED_S)
    before, during, later, reports = [], [], [], []
    with Live(bundle) as live:
        training = Training(live)
        training.is_ready()
        for number in range(1 if quick else REPEATS):
            trace = live.folder / f"after-{number}.umtrace"
            before.append(training.blocks(before_s))
            live.attach(training.process.pid, "start", "-o", trace)
            during.append(training.blocks(recorded_s))
            training.begin(1)  # it trains while the recording ends
            reports.append(ended(live, training.process, trace))
            training.steps()
            later.append(training.blocks(recorded_s))
            say(f"PyTorch step in us: before {statistics.median(before[-1]):.1f}, recorded {statistics.median(during[-1]):.1f}, "
                f"after {statistics.median(later[-1]):.1f}; the report came {reports[-1]:.2f} s after the stop")
    # Over the steps before the first recording: what one leaves behind would also be there before the next.
    figures = [figure_of("after.torch.ratio", later, "ratio", before[0]), figure_of("during.torch.ratio", during, "ratio", before[0]),
               figure_of("report.after_stop.s", [reports], "s")]
    figures += [figure_of(f"after.torch.{name}.us", groups, "us")
                for name, groups in (("before", before), ("recorded", during), ("after", later))]
    return figures

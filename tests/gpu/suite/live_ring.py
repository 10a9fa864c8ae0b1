"""A day in a ring: whether memory, descriptors or the file go on growing once it has gone round."""

import os
import statistics
import time

from .cases import require
from .live_cycles import LAUNCHES, ROUNDS_OF_ALLOCATION, ROUNDS_OF_WAIT, memory
from .live_process import Live, rounds
from .results import figure

THREADS = 2
CALLS_OF_ROUND = LAUNCHES + 1 + 2 / ROUNDS_OF_ALLOCATION + 1 / ROUNDS_OF_WAIT
DAY_OF_CALLS = 24 * 3600 * 1000
# Size, calls, and after which part of them the ring has gone round: a call has 9 bytes.
WHOLE, QUICK = ("64MiB", DAY_OF_CALLS, 0.1), ("4MiB", 4_000_000, 0.25)
LAST, PARTS = 0.98, 9  # the last look, while the threads are there, and how many parts lie between it and the first
LOOKS = 5              # of which the least counts: some pages and descriptors are there for a moment


def ring(bundle, say, quick):
    """Figures: KiB of memory with the segment, descriptors, and KiB of the file, at the end less after the first part. A page that
    is touched once is not growth of a ring: `steady` is what each part adds, by their median."""
    size, calls, first = QUICK if quick else WHOLE
    each = round(calls / CALLS_OF_ROUND / THREADS)
    with Live(bundle) as live:
        trace = live.folder / "ring.umtrace"
        process, counters = live.load("--threads", THREADS, "--rounds", each, UMADVISOR_RING=size, UMADVISOR_OUTPUT=str(trace))
        seen = []
        for part in range(PARTS + 1):
            enough = (first + (LAST - first) * part / PARTS) * each
            while process.poll() is None and min(rounds(counters)) < enough:
                time.sleep(0.002)
            seen.append(_look(process, trace))
        process.communicate()
        require(process.returncode == 0, f"ring: the program ended with {process.returncode}")
        closed = os.stat(trace).st_blocks >> 1
    growth = [end - warm for warm, end in zip(seen[0], seen[-1])]
    steady = PARTS * statistics.median(after[0] - before[0] for before, after in zip(seen, seen[1:]))
    say(f"ring of {size}, {calls} calls: {seen[0][0]} KiB resident after {first:.0%}, growth {growth[0]:+} KiB, of which steady "
        f"{steady:+}; {growth[1]:+} descriptors; file {seen[0][2]} KiB, {growth[2]:+} KiB; {closed} KiB on disk when closed")
    return [figure("ring.memory_growth.kib", [growth[0]], "KiB"), figure("ring.memory_growth.steady.kib", [steady], "KiB"),
            figure("ring.memory.kib", [seen[0][0]], "KiB"), figure("ring.descriptors", [growth[1]], "1"),
            figure("ring.file_growth.kib", [growth[2]], "KiB"), figure("ring.file.kib", [seen[0][2]], "KiB"),
            figure("ring.calls", [calls], "1")]


def _look(process, trace):
    looks = []
    for _ in range(LOOKS):
        require(process.poll() is None, "ring: the program ended before it was looked at")
        looks.append((*memory(process), os.stat(trace).st_size >> 10))
        time.sleep(0.005)
    return [min(values) for values in zip(*looks)]

"""Recordings begun and ended again and again while threads call the driver: is a call missing?

live_load says how many rounds each thread has done. Rounds that begin after the answer to `start` and end before `stop` is sent
have to be in the trace, and so has each round between two that are. A round is known by the place its copy goes to, and has as many
launches, allocations and waits as its number says. `cycles.lost` counts calls that are not there, those that are there twice, and
recordings whose trace is not closed or has dropped records (as one, with all calls that it should have)."""

import json
import random
import subprocess
import time
from collections import Counter
from pathlib import Path

from .live_process import Live, numbers, rounds
from .results import figure

THREADS, RATE = 3, 1000  # rounds a second of each thread
CALLS = ("Launch", "Copy", "Alloc", "Free", "Sync")
WANTED = tuple(f'{{"record":"{kind}",' for kind in (*CALLS, "Header"))
PLACES, LAUNCHES, ROUNDS_OF_WAIT, ROUNDS_OF_ALLOCATION = 1 << 18, 8, 8, 16  # tools/bench/live_load.cu


def calls_of(number):
    """How many calls a round has."""
    allocates, waits = number % ROUNDS_OF_ALLOCATION == 0, number % ROUNDS_OF_WAIT == ROUNDS_OF_WAIT - 1
    return LAUNCHES + 1 + 2 * allocates + waits


def rounds_of(records, base, near):
    """Calls by round, of the thread whose places begin at `base`; rounds are counted on from those about `near`."""
    def place(each):
        return (int(each["destination"], 16) - base) // 4

    threads = {each["thread"] for each in records if each["record"] == "Copy" and 0 <= place(each) < PLACES}
    found, number, calls, has_copy, before = Counter(), near, 0, False, ""
    for each in records:
        kind = each["record"]
        if each.get("thread") not in threads or kind not in CALLS:
            continue
        begins = before not in ("", "Launch") if kind == "Launch" else kind == "Copy" and has_copy
        if begins:
            found[number] += calls if has_copy else 0  # what was in the middle of a round at the beginning has no number
            calls, has_copy = 0, False
        if kind == "Copy":
            number += (place(each) - number + PLACES // 2) % PLACES - PLACES // 2
            has_copy = True
        calls, before = calls + 1, kind
    if has_copy:
        found[number] += calls
    return found


def missing(found, first, last):
    """Calls that are missing of rounds `first` up to `last` and of all between two that are there, calls that are twice between
    those, and how many were looked for. Of the last round that is there more may follow: allocations that the process makes while
    it closes the file."""
    between = range(min(found) + 1, max(found)) if found else ()
    whole = set(range(first, last)) | set(between)
    return (sum(max(0, calls_of(number) - found[number]) for number in whole),
            sum(max(0, found[number] - calls_of(number)) for number in between), sum(map(calls_of, whole)))


def records_of(live, trace):
    """All of a trace, or none where it is not whole."""
    dump = subprocess.run([str(live.bundle.umadvisor), "dump", "--json", str(trace)], capture_output=True, text=True, check=False)
    records = [json.loads(line) for line in dump.stdout.splitlines()
               if line.startswith(WANTED)] if dump.returncode == 0 else []
    whole = records and records[0]["record"] == "Header" and records[0]["closed"] and not any(records[0]["dropped"])
    return records if whole else []


def memory(process):
    """KiB of its own memory and of shared segments, and how many files are open. Pages of files that it has not changed are not
    counted: the kernel brings and drops them as it likes."""
    folder = Path("/proc") / str(process.pid)
    rollup = dict(line.split()[:2] for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
    return int(rollup["Pss_Anon:"]) + int(rollup["Pss_Shmem:"]), len(list((folder / "fd").iterdir()))


def cycles(bundle, say, count, name="cycles", under=()):
    """Figures of so many recordings; `under` as for Live.load()."""
    draw, lost, twice, checked, broken = random.Random(1), 0, 0, 0, 0
    with Live(bundle, in_memory=True) as live:
        process, counters = live.load("--threads", THREADS, "--rate", RATE, "--seconds", 24 * 3600, under=under)
        client, trace = live.connect(process), live.folder / "cycle.umtrace"
        warm = None
        for number in range(count):
            client.ask("start", f"output={trace}")
            first = rounds(counters)
            time.sleep(draw.choice((0, 0.001, 0.003, 0.008)))
            last = rounds(counters)
            client.ask("stop")
            records = records_of(live, trace)
            broken += not records
            for (_, base), begin, end in zip(numbers(counters), first, last):
                # Of the round after those counted at first, the first calls may have been before the answer.
                fewer, more, of = missing(rounds_of(records, base, begin), begin + 1, end)
                lost, twice, checked = lost + fewer, twice + more, checked + of
            trace.unlink()
            if number == count // 10:
                warm = memory(process)
        end = memory(process)
        client.close()
    say(f"{name}: {count} recordings, {lost} of {checked} calls missing, {twice} twice, {broken} traces not whole; "
        f"memory {end[0] - warm[0]:+} KiB, {end[1] - warm[1]:+} descriptors since a tenth of them")
    return [figure(f"{name}.lost", [lost + twice + broken], "1"), figure(f"{name}.count", [count], "1"),
            figure(f"{name}.checked", [checked], "1"), figure(f"{name}.memory_growth.kib", [end[0] - warm[0]], "KiB"),
            figure(f"{name}.descriptors", [end[1] - warm[1]], "1")]


def limited_cycles(bundle, say, count=100):
    """The same where address space is limited, however much: the library then has memory for few chunks at a time, and a chunk that a
    recording leaves behind is soon missing."""
    return cycles(bundle, say, count, "cycles.limited", ("prlimit", f"--as={1 << 46}"))

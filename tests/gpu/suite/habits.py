"""Runs of managed_habits whose verdicts are known before anyone measures: chosen by a seed, spread evenly over habits,
cases, sizes and streams."""

import random
from dataclasses import dataclass

PAGE = 4 << 10
BLOCK = 2 << 20
MIB = 1 << 20

# What runs at one time stays below this; of one run, a flag and the block that it may have to itself are kept free.
MOST_AT_ONCE = 2 << 30
MOST = MOST_AT_ONCE - 4 * BLOCK
MOST_ON_SIMCUDA = 64 * MIB
STREAMS = (1, 2, 3, 4, 8)
ROUNDS = range(4, 13)
# Bytes that a run goes through in all its rounds: large arrays take the fewest rounds.
MOST_WORK = 8 << 30
MOST_WORK_ON_SIMCUDA = 256 * MIB
SIMULATED_CARD = 128 * MIB


@dataclass(frozen=True)
class Way:
    """One row of the program's own table (habits/table.hpp); a test compares the two."""

    habit: str
    case: str
    way: str
    label: str             # the verdict it deserves, "none" included
    also: tuple = ()       # verdicts that hold as well: neither right nor wrong
    least: int = PAGE      # the smallest size at which the way is what it says
    most: int = MOST


WAYS = (
    Way("thrashing", "clear", "kernel-and-loop", "thrashing", ("ping_pong",)),
    Way("thrashing", "clear", "turns-100us", "thrashing", ("ping_pong",)),
    Way("thrashing", "near", "one-after-the-other", "none"),
    Way("thrashing", "near", "turns-5ms", "ping_pong"),
    Way("thrashing", "borderline", "turns-400us", "thrashing", ("ping_pong",)),
    Way("thrashing", "borderline", "turns-600us", "ping_pong", ("thrashing",)),
    Way("ping_pong", "clear", "host-loop", "ping_pong"),
    Way("ping_pong", "near", "host-part-in-kernel", "none"),
    Way("ping_pong", "near", "pinned-result", "none"),
    Way("ping_pong", "near", "one-round", "read_back"),
    Way("ping_pong", "borderline", "two-rounds", "ping_pong", ("read_back",)),
    Way("ping_pong", "borderline", "half", "ping_pong", least=MIB),
    Way("first_touch", "clear", "fill-kernel", "first_touch"),
    Way("first_touch", "near", "prefetch", "none"),
    Way("first_touch", "near", "device-fill", "none"),
    Way("first_touch", "borderline", "half-prefetched", "first_touch", least=MIB),
    Way("host_populate", "clear", "counted", "host_populate", ("first_touch",)),
    Way("host_populate", "clear", "counted-prefetched", "host_populate"),
    Way("host_populate", "near", "file", "first_touch"),
    Way("host_populate", "near", "file-prefetched", "none"),
    Way("host_populate", "borderline", "looked-at-once", "host_populate", least=MIB),
    Way("read_back", "clear", "read-all", "read_back"),
    Way("read_back", "near", "prefetch", "none"),
    Way("read_back", "near", "one-page", "none", least=MIB),
    Way("read_back", "borderline", "half", "read_back", least=MIB),
    Way("false_sharing", "clear", "in-page", "false_sharing", ("ping_pong",)),
    Way("false_sharing", "clear", "in-block", "false_sharing", ("ping_pong",), least=16 * PAGE),
    Way("false_sharing", "clear", "variable", "false_sharing", ("ping_pong",), most=PAGE),
    Way("false_sharing", "near", "own-allocation", "none"),
    Way("false_sharing", "near", "other-block", "none"),
    Way("false_sharing", "borderline", "two-rounds", "false_sharing", ("ping_pong",)),
    Way("read_only_bouncing", "clear", "both-read", "read_only_bouncing", ("ping_pong",)),
    Way("read_only_bouncing", "near", "read-mostly", "none"),
    Way("read_only_bouncing", "near", "one-writes", "ping_pong"),
    Way("read_only_bouncing", "borderline", "one-write", "read_only_bouncing", ("ping_pong",)),
    Way("remote_access", "clear", "many", "remote_access"),
    Way("remote_access", "near", "once", "none"),
    Way("remote_access", "near", "local", "none"),
    Way("remote_access", "borderline", "thrice", "remote_access"),
    Way("oversubscribed", "clear", "passes", "oversubscribed", least=8 * MIB),
    Way("oversubscribed", "near", "passes", "none", least=8 * MIB),
    Way("oversubscribed", "borderline", "just-above", "oversubscribed", least=8 * MIB),
    Way("prefetch_ping_pong", "clear", "unused", "prefetch_ping_pong", ("unused_prefetch",)),
    Way("prefetch_ping_pong", "near", "both-use", "none"),
    Way("prefetch_ping_pong", "borderline", "device-uses", "prefetch_ping_pong"),
    Way("late_prefetch", "clear", "aside", "late_prefetch", ("first_touch",)),
    Way("late_prefetch", "clear", "after", "late_prefetch", ("first_touch", "redundant_prefetch")),
    Way("late_prefetch", "near", "before", "none"),
    Way("late_prefetch", "near", "aside-event", "none"),
    Way("late_prefetch", "borderline", "aside-unordered", "late_prefetch", ("first_touch",)),
    Way("redundant_prefetch", "clear", "resident", "redundant_prefetch"),
    Way("redundant_prefetch", "near", "elsewhere", "none"),
    Way("redundant_prefetch", "borderline", "thrice", "redundant_prefetch"),
    Way("unused_prefetch", "clear", "prefetched-back", "unused_prefetch", ("prefetch_ping_pong",)),
    Way("unused_prefetch", "clear", "faulted-back", "unused_prefetch"),
    Way("unused_prefetch", "near", "used", "none"),
    Way("unused_prefetch", "borderline", "one-page", "unused_prefetch", least=MIB),
    Way("none", "clear", "device", "none"),
    Way("none", "clear", "host", "none"),
    Way("none", "near", "there-and-back", "none"),
)


@dataclass(frozen=True)
class Run:
    """One run of the program and what its verdict should be."""

    way: Way
    bytes: int
    streams: int
    rounds: int
    seed: int
    card: int = 0  # bytes of simcuda's device; 0 on a real one

    @property
    def label(self):
        return self.way.label

    @property
    def arguments(self):
        return ["--habit", self.way.habit, "--case", self.way.case, "--way", self.way.way, "--bytes", str(self.bytes),
                "--streams", str(self.streams), "--rounds", str(self.rounds), "--seed", str(self.seed)]

    @property
    def environment(self):
        return {"SIMCUDA_CONFIG": f"capacity={self.card}"} if self.card else {}

    @property
    def managed_bytes(self):
        """What it holds at most, to the block: the array, a flag, the module's variable."""
        return (self.bytes + BLOCK - 1) // BLOCK * BLOCK + 2 * BLOCK


def cases(seed, count, sim):
    """`count` different runs; the same for the same arguments. `oversubscribed` is run on simcuda only."""
    chance = random.Random(seed)
    kinds = {}
    for way in WAYS:
        if sim or way.habit != "oversubscribed":
            kinds.setdefault((way.habit, way.case), []).append(way)
    # The remainder of an uneven count falls on some of the kinds, by chance.
    order = list(kinds)
    chance.shuffle(order)
    shares = {kind: count // len(order) + (i < count % len(order)) for i, kind in enumerate(order)}
    runs = [run for kind in kinds for run in _of_one_kind(chance, kinds[kind], shares[kind], sim)]
    chance.shuffle(runs)
    return runs


def at_one_time(runs, most=MOST_AT_ONCE):
    """The runs in groups, each of which together stays below `most` bytes of managed memory."""
    group, held = [], 0
    for run in runs:
        if group and held + run.managed_bytes >= most:
            yield group
            group, held = [], 0
        group.append(run)
        held += run.managed_bytes
    if group:
        yield group


def _of_one_kind(chance, ways, count, sim):
    """Ways and streams take turns; each size lies in another of `count` equal parts of its way's range."""
    parts = list(range(count))
    chance.shuffle(parts)
    first = chance.randrange(len(ways)), chance.randrange(len(STREAMS))
    for i, part in enumerate(parts):
        way = ways[(first[0] + i) % len(ways)]
        most = min(way.most, MOST_ON_SIMCUDA if sim else MOST)
        size = way.least * (most / way.least) ** ((part + chance.random()) / count)
        size = min(max(int(size) // PAGE * PAGE, way.least), most)
        rounds = min(chance.choice(ROUNDS), (MOST_WORK_ON_SIMCUDA if sim else MOST_WORK) // size)
        yield Run(way, size, STREAMS[(first[1] + i) % len(STREAMS)], max(rounds, ROUNDS.start),
                  chance.randrange(1 << 32), _card(chance, way, size) if sim else 0)


def _card(chance, way, size):
    if way.habit != "oversubscribed":
        return SIMULATED_CARD
    blocks = size // BLOCK
    if way.case == "clear":
        blocks = int(blocks * chance.uniform(0.5, 0.8))
    elif way.case == "near":
        blocks += 2 + chance.randrange(2)  # one more than a size that is no whole number of blocks
    else:
        blocks -= chance.randrange(1, 3)
    return blocks * BLOCK

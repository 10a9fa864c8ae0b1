"""Bytes of each managed allocation, as a report has them at every level of what is told, against those that moved."""

from .cases import require
from .counter import counter
from .managed import PART
from .results import figure

# What is told, its options, and how far the report may be from what moved.
LEVELS = {"full": (("--um-detail", "full"), 0), "faults": (("--um-detail", "faults"), 0.05),
          "auto": (("--um-detail", "auto"), 0.05), "pagemap": (("--um", "pagemap"), 0.05)}
PROGRAM = "managed_phases"
# A round takes simcuda microseconds, and looks are rationed by real time: on a busy machine some are left out.
TRIES_ON_SIMCUDA = 8
BLOCK = 2 << 20

# What the program moves of each array, by its rounds, to the device and to the host: for simcuda, which counts sums only.
KNOWN = (lambda size, rounds: (size * rounds, size * rounds),
         lambda size, rounds: (size * (rounds // 2), size * (rounds // 2 - 1)),
         lambda size, _rounds: (size, 0))
ROUNDS_ON_SIMCUDA = 12


def check_bytes(cases, bundle, advised):
    """Returns the greatest error of any allocation and direction at each level."""
    figures = []
    for level in LEVELS:
        cases.check(PART, f"{PROGRAM}: bytes of each allocation at {level}",
                    lambda name=level: _check(bundle, advised, name, figures))
    return figures


def _check(bundle, advised, level, figures):
    limit = LEVELS[level][1]
    for _ in range(TRIES_ON_SIMCUDA if bundle.sim else 1):
        worst, text = _measure(bundle, advised, LEVELS[level][0])
        if worst <= limit:
            break
    figures.append(figure(f"um.bytes.{level}.error", [worst], "1"))
    require(worst <= limit, f"off by {worst:.3f}, {limit} is allowed: {text}")
    return f"off by {worst:.3f}: {text}"


def _measure(bundle, advised, options):
    independent = counter(bundle, unified_memory=True)
    outcome, traces = advised.run([bundle.program(PROGRAM)], options, bundle.environment(**independent.environment))
    require(outcome.status == 0 and traces, f"under umadvisor: {outcome.explain()}")
    blocks = independent.read().get("blocks")
    managed = advised.report(traces[0])["managed"] or {}
    allocations = sorted((each for each in advised.records(traces[0])
                          if each["record"] == "Alloc" and each["memory"] == "managed"), key=lambda each: -each["bytes"])
    lines = sorted(managed.get("allocations", []), key=lambda each: -each["bytes"])
    require(len(lines) == len(allocations) == 3, f"{len(lines)} lines of {len(allocations)} allocations")
    worst, texts = 0, []
    for line, allocation in zip(lines, allocations):
        moved = moved_in(blocks, allocation) if blocks else KNOWN[len(texts)](allocation["bytes"], ROUNDS_ON_SIMCUDA)
        reported = (line["bytes_to_device"], line["bytes_to_host"])
        worst = max(worst, *(abs(ours - theirs) / (theirs or allocation["bytes"]) for ours, theirs in zip(reported, moved)))
        texts.append(f"{reported} of {moved} ({line['basis']})")
    return worst, "; ".join(texts)


def moved_in(blocks, allocation):
    """What [address of a block, bytes to the device, bytes to the host] add up to over the blocks of an Alloc record."""
    address = int(allocation["address"], 16)
    first, end = address // BLOCK * BLOCK, address + allocation["bytes"]
    inside = [each for each in blocks if first <= each[0] < end]
    return sum(each[1] for each in inside), sum(each[2] for each in inside)

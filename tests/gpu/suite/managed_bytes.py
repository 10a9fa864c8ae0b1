"""Bytes of each managed allocation, as a report has them, against those that moved.

One program at every level of what is told; all programs with managed memory at the usual level, line by line."""

from dataclasses import dataclass

from .act_gains import PROGRAMS as TIMED
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

# Programs that a figure is given for at the usual level; those of two devices are told of moves between these.
ONE_DEVICE = ("batches", "first_touch", "graph_rounds", "histogram", "k_means", "kernel_chain", "linked_nodes",
              "many_small", "matrix_product", "phases", "ping_pong", "pointer_table", "reduction", "small_result",
              "small_update", "sparse_product", "static_arrays", "stencil", "stream_buffers", "struct_of_pointers",
              "uploaded_pointers")
TWO_DEVICES = tuple(each.name for each in TIMED if each.devices == 2)
WAYS = ("bytes_to_device", "bytes_to_host", "bytes_between_devices")
# Of what a program moved that way: an allocation that moved less is not judged by itself.
LEAST_SHARE = 0.01
# Of the driver's own total that way: where CUPTI counted less than all but that, it has lost records.
MOST_LOST = 0.01


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
    _, traces = advised.run_well([bundle.program(PROGRAM)], options, bundle.environment(**independent.environment))
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
    """What [address of a block, bytes to the device, bytes to the host, ...] add up to over the blocks of an Alloc."""
    inside = [each for each in blocks if each[0] in blocks_of(allocation)]
    return sum(each[1] for each in inside), sum(each[2] for each in inside)


def blocks_of(allocation):
    """Addresses of the driver's blocks that an Alloc record has a part in."""
    address = int(allocation["address"], 16)
    return range(address // BLOCK * BLOCK, address + allocation["bytes"], BLOCK)


@dataclass
class Held:
    """A line of a report, or several that share a block or cannot be told apart, against what moved of it."""
    text: str
    reported: list
    moved: list

    def errors(self, totals, lost=(False,) * len(WAYS)):
        """Relative, by way; None where too little moved to judge, or CUPTI lost records."""
        return [abs(ours - theirs) / max(theirs, total * LEAST_SHARE)
                if max(ours, theirs) >= total * LEAST_SHARE > 0 and not missing else None
                for ours, theirs, total, missing in zip(self.reported, self.moved, totals, lost)]


def lost_by_cupti(counted, totals):
    """Of each way, whether CUPTI has lost records of it: the driver's own totals have more than it counted. Between
    devices the driver has no total: there it is taken to have lost some where it has lost any of another way."""
    known = [(ours, totals[way]) for ours, way in zip(counted, WAYS[:2])]
    return [whole - ours > MOST_LOST * whole for ours, whole in known] + [any(ours < whole for ours, whole in known)]


def check_all_bytes(cases, bundle, advised, devices=1):
    """Returns a line for each program, and the figures: the share of lines within 5%, and the worst."""
    figures, errors, between, left_out = [], [], [], []
    for program in (*ONE_DEVICE, *TWO_DEVICES):
        name = f"{program}: bytes of each line"
        if bundle.sim:
            cases.not_run(PART, name, "simcuda counts sums only")
        elif program in TWO_DEVICES and devices < 2:
            cases.not_run(PART, name, "needs 2 devices")
        else:
            cases.check(PART, name, lambda p=program: _judge(bundle, advised, p, figures, errors, between, left_out))
    for metric, found in (("managed.bytes", errors), ("managed.peer.bytes", between)):
        if found:
            figures += [figure(f"{metric}.error", [max(found)], "1"),
                        figure(f"{metric}.within_5_percent", [sum(each <= 0.05 for each in found) / len(found)], "1"),
                        figure(f"{metric}.judged", [len(found)], "1")]
    if errors or left_out:
        figures.append(figure("managed.bytes.lost_by_cupti", [len(left_out)], "1"))
    return figures


def _judge(bundle, advised, program, figures, errors, between, left_out):
    independent = counter(bundle, unified_memory=True)
    _, traces = advised.run_well([bundle.program(program)], (), bundle.environment(**independent.environment))
    blocks = independent.read()["blocks"]
    report = advised.report(traces[0], ("--hide", "*/work.hpp"))
    allocations = [each for each in advised.records(traces[0])
                   if each["record"] == "Alloc" and each["memory"].startswith("managed") and each["status"] == 0]
    held = by_line(report["managed"]["allocations"], allocations, blocks)
    totals = [sum(each[way] for each in blocks) for way in range(1, 1 + len(WAYS))]
    lost = lost_by_cupti(totals, report["managed"]["totals"])
    texts = [f"CUPTI lost records of {', '.join(way for way, missing in zip(WAYS, lost) if missing)}"] if any(lost) else []
    for each in held:
        found = each.errors(totals, lost)
        left_out += [one for one, other in zip(each.errors(totals), found) if one is not None and other is None]
        errors += [error for error in found[:2] if error is not None]
        between += [error for error in found[2:] if error is not None]
        texts.append(f"{each.text}: {each.reported} of {each.moved}")
        figures.append({"program": program, "line": each.text, "reported": each.reported, "counted": each.moved,
                        "errors": [error if error is None else round(error, 3) for error in found]})
    return "; ".join(texts)


def by_line(lines, allocations, blocks):
    """Groups of lines that share no block, each held against the blocks of its allocations.

    A line names allocations in what it says of its blocks and life, but not always all: those that no line names belong
    to the lines that hold more than they name, and these are held against their blocks together."""
    known = {each["allocation"]: each for each in allocations}
    groups, incomplete = [], []  # [texts, reported, addresses]
    named = set()
    for line in lines:
        ids = {each["allocation"] for each in line["blocks"]} | {(line["life"] or {}).get("allocation")}
        ids &= known.keys()
        named |= ids
        (groups if len(ids) >= line["count"] else incomplete).append([{line["line"]["text"] if line["line"] else line["variable"] or line["call"]},
                       [line[way] for way in WAYS], {at for each in ids for at in blocks_of(known[each])}])
    unnamed = {at for key, each in known.items() if key not in named for at in blocks_of(each)}
    if unnamed:
        incomplete.append([set() if incomplete else {"no line"}, [0] * len(WAYS), unnamed])
    if incomplete:
        groups.append([set().union(*(each[0] for each in incomplete)), [sum(way) for way in zip(*(each[1] for each in incomplete))],
                       set().union(*(each[2] for each in incomplete))])
    joined = []
    for group in groups:
        for other in [each for each in joined if each[2] & group[2]]:
            joined.remove(other)
            group = [group[0] | other[0], [a + b for a, b in zip(group[1], other[1])], group[2] | other[2]]
        joined.append(group)
    return [Held(", ".join(sorted(texts)), reported,
                 [sum(each[way] for each in blocks if each[0] in addresses) for way in range(1, 1 + len(WAYS))])
            for texts, reported, addresses in joined]

"""What --act does to programs: prefetch takes the device's faults away, rewrite=all and stage change no result."""

import statistics

from .cases import require
from .counted import changes, count_both
from .examples import EXAMPLES, RUNTIMES
from .process import run
from .results import result_text, times

PART = "act"
ROUNDS = 5            # interleaved repetitions of each timed program
KERNEL_SLACK = 1.2    # a prefetched kernel may take this much of the resident kernel plus the transfer

# program, its twin with prefetches by hand, the time to compare, the time of the kernel when nothing moves
PREFETCHED = (("vector_add_managed", "prefetched_add", "kernel.first", "kernel.later"),
              ("pingpong", "pingpong_prefetched", "kernel.median", "kernel.resident"))


def check_act(cases, bundle, advised):
    for program, twin, moved, resident in PREFETCHED:
        cases.check(PART, f"{program} --act prefetch: same output",
                    lambda p=program: _same_output(bundle, advised, [bundle.program(p)], "prefetch", "Prefetch"))
        cases.check(PART, f"{program} --act prefetch: faults", lambda p=program: _faults_gone(bundle, advised, p))
        if bundle.sim:
            cases.not_run(PART, f"{program} --act prefetch: times", "not run on simcuda")
            continue
        cases.check(PART, f"{program} --act prefetch: times",
                    lambda p=program, t=twin, m=moved, r=resident: _times(bundle, advised, p, t, m, r))
    for example in EXAMPLES:
        for runtime in RUNTIMES:
            command = [bundle.program(example.program, runtime), *example.arguments]
            record = "Alloc" if example.device_memory else ""
            cases.check(PART, f"{example.name} [{runtime}] --act rewrite=all",
                        lambda c=command, r=record, s=example.expected_status(bundle):
                        _same_output(bundle, advised, c, "rewrite=all", r, s))
            cases.check(PART, f"{example.name} [{runtime}] --act stage",
                        lambda c=command, s=example.expected_status(bundle):
                        _same_output(bundle, advised, c, "stage", "", s))
    cases.check(PART, "pageable_copies --act stage: staged", lambda: _staged(bundle, advised))
    _check_spill(cases, bundle, advised)


def _same_output(bundle, advised, command, act, record, status=0):
    """Same output as bare; where `record` is named, the trace must hold such records of umadvisor's own doing."""
    bare = run(command, bundle.environment())
    require(bare.status == status, f"bare: {bare.explain()}, expected {status}")
    outcome, traces = advised.run(command, ["--act", act])
    require(outcome.status == status, f"{outcome.explain()}, bare {status}")
    require(result_text(outcome) == result_text(bare), "output differs from the bare run")
    if not record:
        return ""
    require(traces, "no trace was written")
    actions = advised.own_actions(traces[0], record)
    require(actions > 0, f"same output, but umadvisor did nothing: no {record} of its own in the trace")
    return f"{actions} {record} by umadvisor"


def _staged(bundle, advised):
    outcome, traces = advised.run([bundle.program("pageable_copies")], ["--act", "stage"])
    require(outcome.status == 0, outcome.explain())
    ways = advised.report(traces[0])["copies_staged"]
    require(all(way["count"] > 0 for way in ways.values()), f"not all directions were staged: {ways}")
    return ", ".join(f"{name} {way['count']}" for name, way in sorted(ways.items()))


def _faults_gone(bundle, advised, program):
    before, after = count_both(bundle, advised, [bundle.program(program)], "prefetch")
    detail = changes(before, after, "device_faults", "to_device_bytes")
    require(before.counts["device_faults"] > 0, f"the bare program has no device faults to take away: {detail}")
    require(after.counts["device_faults"] == 0, detail)
    return detail


def _times(bundle, advised, program, twin, moved, resident):
    """Interleaved: bare, with --act prefetch, and the twin that prefetches by hand."""
    bare, acted, hand, transfer, still = [], [], [], [], []
    for _ in range(ROUNDS):
        first = run([bundle.program(program), "--time"], bundle.environment())
        second, _ = advised.run([bundle.program(program), "--time"], ["--act", "prefetch"])
        third = run([bundle.program(twin), "--time"], bundle.environment())
        for outcome in (first, second, third):
            require(outcome.status == 0, outcome.explain())
        bare.append(times(first)[moved])
        acted.append(times(second)[moved])
        hand.append(times(third)[moved])
        transfer.append(times(third)["transfer"])
        still.append(times(first)[resident])
    limit = KERNEL_SLACK * (statistics.median(still) + statistics.median(transfer))
    detail = (f"{moved} bare {statistics.median(bare):.0f} us, prefetched {statistics.median(acted):.0f}, by hand "
              f"{statistics.median(hand):.0f}, limit {limit:.0f}")
    require(statistics.median(acted) <= limit, detail)
    return detail


def _check_spill(cases, bundle, advised):
    """A program that allocates 384 MiB in blocks of 32, on a card that is taken for one of 128."""
    command = [bundle.program("fill_card")]
    spill = ["--act", "rewrite=spill", "--pretend-memory", "128M"]

    def goes_on():
        # simcuda's card is that small in the suite: bare, the program would end
        bare = run(command, bundle.environment(SIMCUDA_CONFIG="capacity=1G"))
        require(bare.status == 0, f"bare: {bare.explain()}")
        outcome, traces = advised.run(command, spill)
        require(outcome.status == 0, outcome.explain())
        require(result_text(outcome) == result_text(bare), "output differs from the bare run")
        spilled = advised.own_actions(traces[0], "Alloc")
        require(spilled == 8, f"{spilled} blocks were spilled, not 8 of 12")
        return f"{spilled} of 12 blocks spilled"

    def ends():
        outcome, _ = advised.run(command, [*spill, "--budget", "64M"])
        require(outcome.status == 0, outcome.explain())
        require("blocks 6\n" in outcome.stdout, f"not 4 blocks on the card and 2 beside it: {outcome.stdout}")
        return "out of memory after 6 blocks"

    cases.check(PART, "fill_card --act rewrite=spill", goes_on)
    cases.check(PART, "fill_card --act rewrite=spill --budget", ends)

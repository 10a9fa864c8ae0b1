"""What --act does to the examples: it changes no result."""

import json
from collections import defaultdict

from .cases import require
from .examples import EXAMPLES, RUNTIMES
from .process import run
from .results import result_text

PART = "act"
# Suite parts act-by-hand and act-prefetch have more of them, their faults and their times.
MANAGED = ("vector_add_managed", "pingpong")


def check_act(cases, bundle, advised):
    for program in MANAGED:
        cases.check(PART, f"{program} --act prefetch: same output",
                    lambda p=program: _same_output(bundle, advised, [bundle.program(p)], "prefetch", "Prefetch"))
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
    for scenario in ("one_block", "frees", "pools", "rows"):
        cases.check(PART, f"rewritten_memory {scenario} --act rewrite=all",
                    lambda s=scenario: _same_output(bundle, advised, [bundle.test_program("rewritten_memory"), s], "rewrite=all",
                                                    "Alloc"))
    cases.check(PART, "managed_devices --act prefetch", lambda: _one_device_each(bundle, advised))
    _check_spill(cases, bundle, advised)
    for program in ("phases", "stream_buffers"):
        cases.check(PART, f"{program} --act prefetch on a full card", lambda p=program: _brings_ahead(bundle, advised, p))
    cases.check(PART, "pinned_copies --act plan: never_rewrite", lambda: _left_by_plan(bundle, advised))


def _same_output(bundle, advised, command, act, record, status=0):
    """Where `record` is named, the trace must hold such records of umadvisor's own doing."""
    bare = run(command, bundle.environment())
    trace = _as_bare(bare, advised, command, ["--act", act], status)
    if not record:
        return ""
    actions = advised.own_actions(trace, record)
    require(actions > 0, f"same output, but umadvisor did nothing: no {record} of its own in the trace")
    return f"{actions} {record} by umadvisor"


def _as_bare(bare, advised, command, options, status=0):
    """The trace of a run whose output and status are those of the bare one."""
    require(bare.status == status, f"bare: {bare.explain()}, expected {status}")
    outcome, traces = advised.run(command, options)
    require(outcome.status == status, f"{outcome.explain()}, bare {status}")
    require(result_text(outcome) == result_text(bare), "output differs from the bare run")
    require(traces, "no trace was written")
    return traces[0]


def _one_device_each(bundle, advised):
    """Where there are several, what all of them reach is not brought to one after the other."""
    command = [bundle.test_program("managed_devices")]
    trace = _as_bare(run(command, bundle.environment()), advised, command, ["--act", "prefetch"])
    places = defaultdict(set)
    for each in advised.records(trace):
        if each["record"] == "Prefetch" and each["reason"] == "not_resident":
            places[each["allocation"]].add(each["location_id"])
    devices = set().union(*places.values())
    require(len(places) == len(devices) + 1, f"{len(places)} arrays were brought to {len(devices)} devices")
    require(all(len(each) == 1 for each in places.values()), f"brought to several devices: {dict(places)}")
    return f"each array brought to one device, {len(devices)} in all"


def _staged(bundle, advised):
    _, traces = advised.run_well([bundle.program("pageable_copies")], ["--act", "stage"])
    ways = advised.report(traces[0])["copies_staged"]
    require(all(way["count"] > 0 for way in ways.values()), f"not all directions were staged: {ways}")
    return ", ".join(f"{name} {way['count']}" for name, way in sorted(ways.items()))


def _check_spill(cases, bundle, advised):
    """A program that allocates 384 MiB in blocks of 32, on a card that is taken for one of 128."""
    command = [bundle.program("fill_card")]
    spill = ["--act", "rewrite=spill", "--pretend-memory", "128M"]

    def goes_on():
        # simcuda's card is that small in the suite: bare, the program would end
        bare = run(command, bundle.environment(SIMCUDA_CONFIG="capacity=1G"))
        spilled = advised.own_actions(_as_bare(bare, advised, command, spill), "Alloc")
        require(spilled == 8, f"{spilled} blocks were spilled, not 8 of 12")
        return f"{spilled} of 12 blocks spilled"

    def ends():
        outcome, _ = advised.run(command, [*spill, "--budget", "64M"])
        require(outcome.status == 0, outcome.explain())
        require("blocks 6\n" in outcome.stdout, f"not 4 blocks on the card and 2 beside it: {outcome.stdout}")
        return "out of memory after 6 blocks"

    cases.check(PART, "fill_card --act rewrite=spill", goes_on)
    cases.check(PART, "fill_card --act rewrite=spill --budget", ends)


def _brings_ahead(bundle, advised, name):
    """On a card that is taken for two thirds of what the program goes through in rounds."""
    command = [bundle.program(name), "--mib", "48", "--rounds", "8"]
    trace = _as_bare(run(command, bundle.environment()), advised, command,
                     ["--act", "prefetch", "--pretend-memory", "32M"])
    made = [each for each in advised.records(trace) if each["record"] == "Prefetch"]
    require(all(each["status"] == 0 for each in made), "a prefetch failed")
    ahead, room = ([each["reason"] for each in made].count(reason) for reason in ("next_launch", "makes_room"))
    detail = f"{ahead} prefetches ahead of launches, {room} to make room"
    require(ahead > 0 and room > 0, detail)
    return detail


def _left_by_plan(bundle, advised):
    """Every call site of a first run in the plan: the second rewrites nothing."""
    command = [bundle.program("pinned_copies")]
    first, traces = advised.run_well(command, ["--act", "rewrite=all"])
    rewritten = advised.own_actions(traces[0], "Alloc")
    require(rewritten > 0, "the first run rewrote nothing")
    made = run([bundle.umadvisor, "plan", traces[0]], bundle.environment())
    require(made.status == 0, f"umadvisor plan: {made.explain()}")
    plan = json.loads(made.stdout)
    keys = {each["key"].removeprefix("0x").zfill(16) for each in advised.records(traces[0]) if each["record"] == "Frame"}
    plan["never_rewrite"] = [{"key": key} for key in sorted(keys - {"0" * 16})]
    path = advised.new_folder() / "plan.json"
    path.write_text(json.dumps(plan), encoding="utf-8")
    trace = _as_bare(first, advised, command, ["--act", f"plan={path}"])
    left = sum(1 for each in advised.records(trace) if each["record"] == "Alloc" and each["reason"] == "never_rewrite")
    detail = f"{rewritten} allocations rewritten, then {left} left to the driver"
    require(left == rewritten and advised.own_actions(trace, "Alloc") == 0, detail)
    return detail

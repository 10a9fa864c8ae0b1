"""Managed memory through the driver's tools queue: what it tells against CUPTI in the same process, and what it and the
other sources cost."""

import statistics

from .cases import require
from .counter import counter
from .process import run
from .results import figure, times

PART = "managed"
PROGRAMS = ("pingpong", "vector_add_managed", "prefetched_add", "static_managed", "pingpong_prefetched")
TIMED = "pingpong"
QUIET = ("pingpong_resident", "--rounds", "5000")  # seconds: what is done once is not what is asked for
# What costs are measured of, and its options.
TELLING = {"light": ("--um-detail", "light"), "auto": ("--um-detail", "auto"), "full": ("--um-detail", "full"),
           "pagemap": ("--um", "pagemap"), "cupti": ("--um", "cupti")}
TIME_LIMIT = 30  # seconds; a run takes one


def check_managed(cases, bundle, advised, rounds):
    """Returns the figures: the greatest difference of any program from CUPTI, and ratios to bare runs in between."""
    errors, figures = [], []
    for program in PROGRAMS:
        cases.check(PART, f"{program}: bytes and faults",
                    lambda p=program: _check_totals(bundle, advised, p, errors))
    if errors:
        figures.append(figure("um.bytes.queue.error", [max(errors)], "1"))
    if not bundle.sim:
        cases.check(PART, f"cost of telling, {rounds} rounds",
                    lambda: figures.extend(_costs(bundle, advised, rounds, [each for each in TELLING if each != "cupti"])))
        cases.check(PART, f"cost of CUPTI, {rounds} rounds",
                    lambda: figures.extend(_costs(bundle, advised, rounds, ["cupti"])))
        cases.check(PART, f"cost while nothing moves, {rounds} rounds",
                    lambda: figures.append(_quiet_cost(bundle, advised, rounds)))
    return figures


def _check_totals(bundle, advised, program, errors):
    independent = counter(bundle, unified_memory=True)
    _, traces = advised.run_well([bundle.program(program)], ["--um-detail", "full"],
                                 bundle.environment(**independent.environment))
    records = advised.records(traces[0])
    source = [each for each in records if each["record"] == "ManagedSource"]
    require(source and source[0]["source"] == "queue", f"not through the queue: {source}")
    require(not any(each["lost"] for each in records if each["record"] == "ManagedDetail"), "events were lost")
    events = [each for each in records if each["record"] == "ManagedEvent"]
    told = {name: sum(each["bytes"] for each in events if each["kind"] == "migration" and each["to"] == to)
            for name, to in (("to_device_bytes", 1), ("to_host_bytes", 0))}
    told["host_faults"] = sum(1 + each["count"] for each in events if each["kind"] == "host_fault")
    totals = [each for each in records if each["record"] == "ManagedCounters"][-1]
    totals = {"to_device_bytes": totals["bytes_to_device"], "to_host_bytes": totals["bytes_to_host"],
              "host_faults": totals["host_faults"]}
    read = independent.read()
    counted = {name: read[name] for name in told}
    for what, ours in (("events", told), ("totals", totals)):
        errors.append(max(_error(ours[name], counted[name]) for name in counted))
        require(ours == counted, f"{what} {ours}, {independent.name} {counted}")
    _check_times(records, events)
    return ", ".join(f"{name} {number}" for name, number in counted.items()) + f"; {len(events)} events"


def _error(ours, theirs):
    return abs(ours - theirs) / theirs if theirs else float(ours != 0)


def _check_times(records, events):
    """Device faults come while kernels run: after the first launch, and before a synchronisation that waited for it."""
    launched = min(each["start_ns"] for each in records if each["record"] == "Launch")
    waited = max(each["start_ns"] + each["duration_ns"] for each in records if each["record"] == "Sync")
    astray = [each for each in events if each["kind"] == "device_fault" and not launched <= each["start_ns"] <= waited]
    require(not astray, f"{len(astray)} device faults lie before the first launch or after the last wait: {astray[:2]}")


def _costs(bundle, advised, rounds, tellings):
    """Device side: the kernel that faults; host side: the rest of a round, in which the host takes everything back."""
    found = {}
    for _ in range(rounds):
        for telling in ("bare", *tellings):
            seen = times(_timed(bundle, advised, (TIMED,), telling))
            for side, time in (("device", seen["kernel.median"]), ("host", seen["round.median"] - seen["kernel.median"]),
                               ("faulty", seen["round.median"])):
                found.setdefault((telling, side), []).append(time)
    middle = {key: statistics.median(values) for key, values in found.items()}
    return [figure(f"um.{telling}.{side}.ratio", [middle[telling, side] / middle["bare", side]], "1")
            for telling in tellings for side in ("device", "host", "faulty")]


def _quiet_cost(bundle, advised, rounds):
    found = {telling: [] for telling in ("bare", "auto")}
    for _ in range(rounds):
        for telling, values in found.items():
            values.append(times(_timed(bundle, advised, QUIET, telling))["round.median"])
    return figure("um.quiet.ratio", [statistics.median(found["auto"]) / statistics.median(found["bare"])], "1")


def _timed(bundle, advised, program, telling):
    command = [bundle.program(program[0]), *program[1:], "--time"]
    if telling == "bare":
        outcome = run(command, bundle.environment())
    else:
        outcome, _ = advised.run(command, TELLING[telling], timeout=TIME_LIMIT)
    require(outcome.status == 0, outcome.explain())
    return outcome

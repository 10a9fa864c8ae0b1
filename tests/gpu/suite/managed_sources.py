"""Who tells of managed memory where the best source is not to be had, and what stays untouched until it is asked for."""

from .cases import require
from .managed import PART, PROGRAMS, TIME_LIMIT

PROGRAM = "pingpong"


def check_sources(cases, bundle, advised):
    cases.check(PART, "the tools queue refused: pagemap takes over", lambda: _refused(bundle, advised))
    cases.check(PART, "CUPTI is not loaded unless asked for", lambda: _untouched(bundle, advised))
    for program in PROGRAMS:
        cases.check(PART, f"{program}: CUPTI, asked for, tells what the queue tells",
                    lambda p=program: _same_totals(bundle, advised, p))


def _managed(advised, traces):
    require(len(traces) == 1, f"{len(traces)} traces")
    return advised.report(traces[0])["managed"] or {}


def _refused(bundle, advised):
    """The device node is denied by a library that is preloaded beside us; simcuda has a switch for it."""
    environment = bundle.environment()
    if bundle.sim:
        environment["SIMCUDA_CONFIG"] += ",tools_queue=0"
    else:
        environment["LD_PRELOAD"] = str(bundle.library("librefuse_tools_device.so"))
    managed = _managed(advised, advised.run_as_bare([bundle.program(PROGRAM)], environment))
    require(managed.get("source") == "pagemap", f"{managed.get('source')} told of managed memory")
    require(managed["trouble"], "the report does not say why")
    verdicts = [each["verdict"] for each in managed["verdicts"]]
    require("ping_pong" in verdicts, f"verdicts {verdicts}")
    return managed["trouble"]


def _untouched(bundle, advised):
    _, traces = advised.run([bundle.program(PROGRAM)])
    require(_managed(advised, traces).get("source") == "queue", "not through the queue")
    modules = [each["path"] for each in advised.records(traces[0]) if each["record"] == "Module"]
    require(modules and not any("cupti" in path for path in modules), f"modules {modules}")
    return f"{len(modules)} modules"


def _same_totals(bundle, advised, program):
    told = {}
    for source in ("queue", "cupti"):
        outcome, traces = advised.run([bundle.program(program)], ["--um", source, "--um-detail", "full"], timeout=TIME_LIMIT)
        require(outcome.status == 0, f"{source}: {outcome.explain()}")
        managed = _managed(advised, traces)
        require(managed.get("source") == source, f"{managed.get('source')} told of managed memory: {managed.get('trouble')}")
        require(managed["lost_events"] == 0, f"{source}: {managed['lost_events']} events were lost")
        told[source] = {name: managed["totals"][name] for name in ("bytes_to_device", "bytes_to_host", "host_faults")}
    require(told["cupti"] == told["queue"], f"{told}")
    return ", ".join(f"{name} {number}" for name, number in told["cupti"].items())

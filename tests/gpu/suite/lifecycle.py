"""The programs that were written to break interposers, on a real driver: how processes begin, end and start others,
parts of a run, captures, pools, memory of other processes. The process tests run the same ones on simcuda."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

from .cases import require
from .program import Program
from .programs import Pace, enter, judge
from .results import figure

PART = "lifecycle"

# program, its scenario
ASKING = (
    *(("memory_program", scenario) for scenario in ("contexts-valid", "expandable", "green", "host-functions", "ipc", "pools",
                                                    "storm 4", "workers")),
    ("capture_program", ""), ("copies_program", ""), ("copies_program", "capture"), ("copies_program", "managed"),
    ("graphs_program", ""), ("no_context", ""),
    *(("inside_loader", scenario) for scenario in ("look-up", "call", "constructor")),
    ("while_unwinding", "call"), ("while_unwinding", "fork"),
)
CUDA = (
    *(("ends", scenario) for scenario in ("atexit", "quick_exit", "SIGTERM", "_Fork", "threads")),
    *(("processes", scenario) for scenario in ("refused", "together", "exec", "spawn", "vfork", "clone")),
    *(("unruly", scenario) for scenario in ("frees", "fork", "fork-first", "signals", "late", "_exit", "abort",
                                            "threads", "close")),
)
# program, scenario, setting, launches that the trace must hold
SET = (
    ("part_of_run", ("ranges",), {"UMADVISOR_CAPTURE_RANGE": "1"}, 65),
    ("part_of_run", ("ranges",), {"UMADVISOR_DELAY": "100"}, 0),
    ("processes", ("refused",), {"UMADVISOR_FOLLOW_FORK": "1"}, 40),
)
ABRUPT = {"quick_exit", "together", "exec", "_exit"}
TRACES = {"ipc": 2, "together": 16, "exec": 2, "spawn": 2, "vfork": 2, "clone": 2, "fork-first": 3}


def check_lifecycle(cases, bundle, advised, pace=Pace()):
    """Returns the figures and one line for each program."""
    begun = time.monotonic()
    with ThreadPoolExecutor(pace.at_once) as pool:
        waiting = [pool.submit(judge, program, bundle, advised, begun, pace) for program in _programs(bundle, advised)]
        lines = [enter(cases, PART, each.result()) for each in waiting]
    cases.check(PART, "part_of_run spin, a delay and a duration", lambda: _delay_and_duration(bundle, advised))
    cases.check(PART, "deep_program: look-ups past us are said", lambda: _deep(bundle, advised))
    agree = sum(line["result"] == "agrees" for line in lines)
    return [figure("lifecycle.total", [sum(line["result"] != "not run" for line in lines)], "1"),
            figure("lifecycle.agree", [agree], "1"), *lines]


def _programs(bundle, advised):
    for source, programs in (("cpp", ASKING), ("cu", CUDA)):
        for program, scenario in programs:
            yield Program(f"{program} {scenario}".strip(), (bundle.test_program(program, source), *scenario.split()),
                          folder=advised.new_folder(), processes=TRACES.get(scenario, 0), abrupt=scenario in ABRUPT)
    for program, arguments, setting, launches in SET:
        words = " ".join(f"{name}={value}" for name, value in setting.items())
        yield Program(f"{words} {program} {' '.join(arguments)}", (bundle.test_program(program, "cu"), *arguments),
                      folder=advised.new_folder(), environment=setting, kernels={"count_up": launches})
    yield Program("reset_pools", (bundle.program("reset_pools"),), processes=1, kernels={"fill": 3})


def _delay_and_duration(bundle, advised):
    command = [bundle.test_program("part_of_run", "cu"), "spin", "2"]
    _, traces = advised.run_well(command, ["-y", "0.5", "-d", "0.5"])
    require(len(traces) == 1, f"{len(traces)} traces")
    records = advised.records(traces[0])
    pauses = [each for each in records if each["record"] == "Pause"]
    causes = [each["cause"] for each in pauses]
    require([each["recording"] for each in pauses] == [0, 1, 0] and causes[::2] == ["delay", "duration"], f"{pauses}")
    starts = [each["start_ns"] for each in records if each["record"] == "Launch"]
    begin, end = (each["start_ns"] for each in pauses[1:])
    astray = [start for start in starts if not begin <= start <= end]
    # The one that is under way when a part ends is recorded, though a busy machine may begin it late.
    require(starts and len(astray) <= 1, f"{len(starts)} launches were recorded, {len(astray)} outside of the part")
    return f"{len(starts)} launches, all in the part"


def _deep(bundle, advised):
    """Plug-ins opened with RTLD_DEEPBIND reach the driver past us: nothing breaks, and the report names them."""
    traces = advised.run_as_bare([bundle.test_program("deep_program"), "deep"])
    told = json.dumps(advised.report(traces[0])["unknown_lookups"])
    for plugin in ("libdeep_linked.so", "libdeep_asking.so"):
        require(plugin in told, f"{plugin} is not named: {told}")
    return "both plug-ins are named"

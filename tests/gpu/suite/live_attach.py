"""How long it takes to begin a recording, of one process and of many together, and until its report is there; what standby adds
to a call."""

import json
import subprocess
import time

from .cases import require
from .interval import figure_of
from .live_process import Live, began_ns
from .process import run

PROCESSES = 8
MEMORY_MIB = 3584  # of the card, for all of them: on most machines a process that does nothing has 500 MiB
GROUPS = 5         # processes in which standby is measured


def standby_calls(bundle, say, quick):
    """Nanoseconds added in standby: batches through the library and through the driver's own address in turn, in one process."""
    figures = []
    for operation in ("launch", "copy"):
        groups = []
        with Live(bundle) as live:
            for _ in range(2 if quick else GROUPS):
                command = [bundle.program("call_costs"), "--operation", operation, "--rounds", 10 if quick else 60, "--each", 1]
                outcome = run(command, live.environment(UMADVISOR_MODE="standby"), 120, live.folder)
                require(outcome.status == 0, f"call_costs: {outcome.explain()}")
                answer = json.loads(outcome.stdout)
                # Its other two modes are the same here: nothing is recorded.
                groups.append(answer["off"]["each"] + answer["record"]["each"])
        figures.append(figure_of(f"standby.{operation}.ns", groups, "ns"))
        say(f"{operation} in standby: {figures[-1]['value']} ns added, {figures[-1]['interval']}; bare {answer['bare']['median']} ns")
    return figures


def ended(live, process, trace):
    """Seconds from the request to stop until a report is printed."""
    begin = time.monotonic()
    live.attach(process.pid, "stop")
    report = subprocess.run([str(live.bundle.umadvisor), "report", str(trace)], capture_output=True, text=True, check=False,
                            env=live.environment(shim=False))
    seconds = time.monotonic() - begin
    require(report.returncode == 0, f"umadvisor report: {report.stderr}")
    return seconds


def report_after_stop(bundle, say, quick):
    """The same of a program with 1,000 launches a second, where no PyTorch is."""
    with Live(bundle) as live:
        process, _ = live.load("--threads", 2, "--rate", 1000 / 16, "--seconds", 600)
        times = []
        for number in range(1 if quick else 3):
            trace = live.folder / f"{number}.umtrace"
            live.attach(process.pid, "start", "-o", trace)
            time.sleep(1 if quick else 10)
            times.append(ended(live, process, trace))
    say(f"report after stop: {', '.join(f'{each:.3f}' for each in times)} s")
    return [figure_of("report.after_stop.s", [times], "s")]


def attach_time(bundle, say, quick):
    """Seconds from the start of the command until the recording begins."""
    with Live(bundle) as live:
        process, _ = live.load("--threads", 2, "--rate", 1000 / 16, "--seconds", 600)
        times = []
        for number in range(3 if quick else 20):
            trace = live.folder / f"{number}.umtrace"
            begin = time.time_ns()
            live.attach(process.pid, "start", "-o", trace)
            live.attach(process.pid, "stop")
            times.append((began_ns(trace) - begin) / 1e9)
    made = figure_of("attach.s", [times], "s")
    say(f"attach: {made['value']} s, {made['interval']}")
    return [made]


def used_mib(bundle):
    """Of the first card; 0 where there is none."""
    if bundle.sim:
        return 0
    answer = run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"], bundle.environment())
    return int(answer.stdout) if answer.status == 0 else 0


def attach_all(bundle, say, quick):
    """Between the first and the last process whose recording begins, when all are asked at once."""
    with Live(bundle) as live:
        before, processes = used_mib(bundle), []
        while len(processes) < PROCESSES:
            processes.append(live.load("--threads", 1, "--rate", 1000 / 8, "--seconds", 600)[0])
            used = used_mib(bundle) - before
            if used + used / len(processes) > MEMORY_MIB:
                say(f"attach --all: {len(processes)} processes have {used} MiB of the card: no more are begun")
                break
        found = json.loads(live.attach("--all", "status", "--json"))["processes"]
        if len(found) != len(processes):
            say(f"attach --all: not measured: {len(found) - len(processes)} other processes of this user would be recorded, too")
            return []
        spreads, lasts = [], []
        for number in range(2 if quick else 10):
            begin = time.time_ns()
            live.attach("--all", "start", "-o", live.folder / f"{number}.umtrace")
            live.attach("--all", "stop")
            began = [began_ns(live.folder / f"{number}.{process.pid}.umtrace") for process in processes]
            spreads.append((max(began) - min(began)) / 1e6)
            lasts.append((max(began) - begin) / 1e6)
    say(f"attach --all: {len(processes)} processes begin within {max(spreads):.2f} ms, the last {max(lasts):.1f} ms after the command")
    return [figure_of("attach_all.ms", [spreads], "ms") | {"processes": len(processes)},
            figure_of("attach_all.from_command.ms", [lasts], "ms") | {"processes": len(processes)}]

"""One unmodified program: bare at least twice, then with umadvisor preloaded. It must not notice, and its trace must be
whole."""

import difflib
from dataclasses import dataclass, field
from pathlib import Path

from . import comparison
from .cases import Failure, require
from .process import Outcome, run

TIME_LIMIT = 150     # seconds for one run
MORE_BARE_RUNS = 4   # to tell a program that varies by itself from one that noticed

# Runs a program below a tool with its output apart from the tool's. The preload is set inside: the tool itself, and
# what it preloads, stay as they are.
_INSIDE = """preload=$1 out=$2; shift 2
[ -z "$preload" ] || export LD_PRELOAD="$preload${LD_PRELOAD:+:$LD_PRELOAD}"
"$@" >"$out/stdout" 2>"$out/stderr"; echo $? >"$out/status" """


class NotRun(Exception):
    """The program cannot bear witness here; the text says why."""


@dataclass(frozen=True)
class Program:
    name: str
    command: tuple
    folder: Path = None                              # working directory
    environment: dict = field(default_factory=dict)
    processes: int = 0                               # traces expected; 0: one or more
    kernels: dict = field(default_factory=dict)      # launches in the traces, by a part of a kernel's name
    preloads: tuple = ((), ())                       # libraries preloaded before and after umadvisor
    source: str = ""                                 # who must have told of managed memory, and of bytes that moved
    tool: object = None                              # of interplay.py: what the program runs under
    acts: str = ""                                   # what umadvisor does to it: a list of --act
    abrupt: bool = False                             # some process runs no exit handlers: nobody closes its trace
    why_not: str = ""                                # why it is not run; empty: it is


def witness(program, bundle, advised):
    """What a run of the program shows, as fields of its line in the results. Raises Failure or NotRun."""
    bare = [_run(program, bundle, advised) for _ in range(2)]
    statuses = {outcome.status for outcome, _ in bare}
    if len(statuses) != 1:
        raise NotRun(f"by itself it ends with status {' or '.join(map(str, sorted(statuses)))}")
    status = statuses.pop()
    if status in (124, 126, 127):
        raise NotRun(f"does not run here: {bare[0][0].explain().replace(f'{Path(program.command[0]).parent}/', '')}")
    outcome, folder = _run(program, bundle, advised, bundle.library("libumadvisor.so"))
    require(outcome.status == status, f"{outcome.explain()}, bare {status}", outcome.stdout + outcome.stderr)
    stderr = _without_our_line(outcome.stderr)

    outputs = [each for each, _ in bare]
    levels = [_agree(program, bundle, advised, outputs, name, text)
              for name, text in (("stdout", outcome.stdout), ("stderr", stderr))]
    how = comparison.LEVELS[levels[0]][0]
    if levels[1] > 0:
        how += f"; stderr: {comparison.LEVELS[levels[1]][0]}"
    if len(outputs) > 2:
        how += f" ({len(outputs)} bare runs)"
    traces = sorted(folder.glob("*.umtrace"))
    records = _check_traces(program, status, [advised.report(trace) for trace in traces])
    line = {"comparison": how, "status": status, "traces": len(traces), "records": records}
    if program.acts:
        line["actions"] = sum(map(advised.actions, traces))
    confirmed = program.tool.confirm(folder) if program.tool else ""
    return {**line, **({"detail": confirmed} if confirmed else {})}


def _run(program, bundle, advised, shim=None):
    """Returns the outcome and the folder where the run's files lie."""
    folder = advised.new_folder()
    before, after = program.preloads
    preload = ":".join(str(path) for path in (*before, *([shim] if shim and not program.tool else []), *after))
    environment = bundle.environment(**program.environment)
    if preload:
        environment["LD_PRELOAD"] = preload
    if shim:
        environment["UMADVISOR_OUTPUT"] = str(folder / "run.umtrace")
        environment.update({"UMADVISOR_ACT": program.acts} if program.acts else {})
    if not program.tool:
        return run(program.command, environment, TIME_LIMIT, program.folder), folder
    command = [*program.tool.command(folder), "sh", "-c", _INSIDE, "sh", shim or "", folder, *program.command]
    around = run(command, environment, TIME_LIMIT, program.folder)
    require((folder / "status").is_file(), f"{program.tool.name} did not run the program: {around.explain()}")
    return Outcome(int((folder / "status").read_text()), (folder / "stdout").read_text(errors="replace"),
                   (folder / "stderr").read_text(errors="replace"), around.seconds), folder


def _without_our_line(stderr):
    """The program's own stderr. Of ours it may hold the line that names the trace, once a process, and nothing else."""
    lines = stderr.splitlines()
    ours = [line for line in lines if line.startswith("umadvisor: ") and not line.startswith("umadvisor: wrote ")]
    require(not ours, f"said on stderr: {ours[0] if ours else ''}")
    return "\n".join(line for line in lines if not line.startswith("umadvisor: wrote "))


def _agree(program, bundle, advised, outputs, stream, text):
    """The level at which the bare runs agree and this text with them. More bare runs are made before a difference is
    laid at umadvisor's door."""
    while True:
        texts = [getattr(outcome, stream) for outcome in outputs]
        level = comparison.strictest(texts)
        difference = comparison.first_difference(texts[0], text, level)
        if not difference:
            return level
        if len(outputs) >= 2 + MORE_BARE_RUNS:
            more = "\n".join(difflib.unified_diff(texts[0].splitlines(), text.splitlines(), "bare", "preloaded", n=1))
            raise Failure(f"{stream}, {comparison.LEVELS[level][0]}: {difference}", more)
        outputs.append(_run(program, bundle, advised)[0])


def _whole(completeness, killed):
    """A program that a signal ends has nobody left to close its trace; all that was committed must be there."""
    missing = [completeness[each] for each in ("chunks_missing", "chunks_damaged", "chunks_lost", "records_unknown")]
    return completeness["complete"] or (killed and not completeness["closed"] and not any(missing))


def _check_traces(program, status, reports):
    """Every process that entered CUDA left a whole trace, and no door was missed. Returns the records of all."""
    require(reports, "no trace was written")
    require(program.processes in (0, len(reports)), f"{len(reports)} traces of {program.processes} processes")
    for report in reports:
        completeness = report["completeness"]
        whole = _whole(completeness, killed=status > 128 or program.abrupt)
        require(whole, completeness["summary"], "\n".join(completeness["lines"]))
        dropped = {why: count for why, count in report["dropped"].items() if count}
        require(not dropped, f"records dropped: {dropped}")
        unknown = sorted({each["symbol"] for each in report["unknown_lookups"]})
        require(not unknown, f"look-ups missed: {', '.join(unknown)}", str(report["unknown_lookups"]))
        managed = report.get("managed") or {"source": "none"}
        require(program.source in ("", managed["source"]), f"{managed['source']} told of managed memory")
        require(not program.source or managed["totals"]["bytes_to_device"], "no managed memory moved")
    for part, expected in program.kernels.items():
        seen = sum(each["count"] for report in reports for each in report["launches"] if part in each["function"])
        require(seen == expected, f"{seen} launches of {part} in the trace instead of {expected}")
    return sum(report["records"] for report in reports)

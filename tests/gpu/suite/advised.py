"""A program under `umadvisor run`, and what the analyzer says about its trace."""

import itertools
import json
import tempfile
from pathlib import Path

from .cases import require
from .process import run

# umadvisor and CUPTI split the same memory differently: both are brought to these names.
_MEMORY = {"registered": "pinned", "device_static": "device", "managed_static": "managed"}


def copy_totals(rows):
    """{(direction, source, destination): (count, bytes)} of a list of copy rows, of either tool."""
    totals = {}
    for row in rows:
        memory = (row["source_memory"], row["destination_memory"])
        key = (row["direction"], *(_MEMORY.get(kind, kind) for kind in memory))
        count, size = totals.get(key, (0, 0))
        totals[key] = (count + row["count"], size + row["bytes"])
    return totals


def describe_totals(totals):
    return "; ".join(f"{d} {s}->{t} {n} of {b} B" for (d, s, t), (n, b) in sorted(totals.items())) or "none"


class Advised:
    """Runs programs under umadvisor in a folder of its own and keeps their traces there until closed."""

    def __init__(self, bundle):
        self.bundle = bundle
        self._folder = tempfile.TemporaryDirectory(prefix="umadvisor-gpu-test-")
        self._runs = itertools.count(1)  # next() of it is safe between threads

    def close(self):
        self._folder.cleanup()

    def new_folder(self):
        """An empty folder that is kept until close()."""
        folder = Path(self._folder.name) / str(next(self._runs))
        folder.mkdir()
        return folder

    def run(self, command, options=(), environment=None, timeout=120):
        """Returns the outcome and the traces it left, largest first."""
        folder = self.new_folder()
        wrapped = [self.bundle.umadvisor, "run", "--no-calibrate", "-f", "-o", folder / "run.umtrace", *options, "--",
                   *command]
        outcome = run(wrapped, environment or self.bundle.environment(), timeout)
        traces = sorted(folder.glob("*.umtrace"), key=lambda path: -path.stat().st_size)
        return outcome, traces

    def run_well(self, command, options=(), environment=None, timeout=120):
        """run() of a program that has to end well and to leave a trace."""
        outcome, traces = self.run(command, options, environment, timeout)
        require(outcome.status == 0, f"under umadvisor: {outcome.explain()}")
        require(traces, "no trace was written")
        return outcome, traces

    def run_as_bare(self, command, environment=None):
        """The traces of a program that has to end well and to print what it prints without umadvisor."""
        bare = run(command, environment or self.bundle.environment())
        require(bare.status == 0, f"bare: {bare.explain()}")
        outcome, traces = self.run_well(command, environment=environment)
        require(outcome.stdout == bare.stdout, "output differs from the bare run")
        return traces

    def report_of(self, command, options=(), environment=None, report_options=()):
        """The report of a program of one process, whose trace is not kept."""
        _, traces = self.run_well(command, options, environment)
        require(len(traces) == 1, f"{len(traces)} traces")
        report = self.report(traces[0], report_options)
        traces[0].unlink()
        return report

    def report(self, trace, options=()):
        """The JSON report of one trace."""
        answer = run([self.bundle.umadvisor, "report", "--json", *options, trace], self.bundle.environment())
        require(answer.status == 0, f"umadvisor report: {answer.explain()}")
        try:
            return json.loads(answer.stdout)
        except ValueError as error:
            require(False, f"umadvisor report --json: {error}")

    def records(self, trace):
        """Every record of a trace."""
        answer = run([self.bundle.umadvisor, "dump", "--json", trace], self.bundle.environment())
        require(answer.status == 0, f"umadvisor dump: {answer.explain()}")
        return [json.loads(line) for line in answer.stdout.splitlines()]

    def own_actions(self, trace, record):
        """How many records of this name umadvisor's own actions left in a trace."""
        return sum(1 for each in self.records(trace)
                   if each.get("record") == record and each.get("origin") == "umadvisor")

    def actions(self, trace):
        """How often umadvisor did something to the program: calls of its own and staged copies."""
        return sum(1 for each in self.records(trace) if each.get("origin") == "umadvisor" or each.get("staged"))


def rules(report):
    """Rule ids of the findings of a report."""
    return {finding["rule"] for finding in report["findings"]}

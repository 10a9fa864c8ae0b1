"""What the replay promises, against programs that were changed by hand: those of replays.cu have a mended twin each, as
the faults of rule_cases have. A process is recorded, and one is timed without umadvisor as it is and one as it is
mended, in turn: medians are compared, since the speeds of a machine differ from process to process. On simcuda, whose
times are not true, nothing is judged."""

import json
import statistics
from dataclasses import dataclass, field

from . import advice
from .cases import require
from .process import run
from .results import figure

PART = "clock"
CLOSE = 0.10         # of what is gained in truth,
OF_RUN = 0.01        # or of the run: a promise is right when it is off by no more than the larger
LEAST_RIGHT = 15     # of the programs
TOGETHER = 0.15      # of the mended run: so far its foretold time may be off
LEAST_WAITS = 0.1    # of the run: with fewer waits nothing shows how well the replay keeps time
ROUNDS, MOST_ROUNDS = 3, 9  # the more where they differ by more than a promise may be off

# Rules of which the first fault has a twin that mends all that is found in it.
PAIRS = ("UMA-101", "UMA-102", "UMA-106", "UMA-108", "UMA-110", "UMA-202", "UMA-203", "UMA-205", "UMA-207", "UMA-502",
         "UMA-503", "UMA-504", "UMA-505")


@dataclass(frozen=True)
class Program:
    """One of replays.cu (replays/table.hpp)."""

    name: str
    rules: frozenset  # whose findings speak of the change; none: it saves nothing
    in_range: bool    # cudaProfilerStart and cudaProfilerStop say what is recorded, and it is not all

    def command(self, bundle, case):
        return [bundle.program("replays"), "--program", self.name, "--case", case]

    @property
    def options(self):
        return ["--capture-range", "cudaProfilerApi"] if self.in_range else []

    def promised_us(self, report):
        """By the findings on the change, or by all together where it saves nothing."""
        if not self.rules:
            return report["together_ns"] / 1e3
        return sum(each["saving_ns"] for each in report["findings"] if each["rule"] in self.rules) / 1e3

    def is_right(self, promised_us, before_us, after_us):
        if not self.rules:
            return promised_us < OF_RUN * before_us
        return abs(promised_us - (before_us - after_us)) <= tolerance_us(before_us, after_us)


@dataclass
class Rounds:
    """What was recorded and timed in turn, all in microseconds."""

    promised_us: list = field(default_factory=list)
    before_us: list = field(default_factory=list)
    after_us: list = field(default_factory=list)
    reports: list = field(default_factory=list)

    def add(self, report, promised_us, before_us, after_us):
        self.reports.append(report)
        self.promised_us.append(promised_us)
        self.before_us.append(before_us)
        self.after_us.append(after_us)

    @property
    def medians(self):
        return tuple(statistics.median(each) for each in (self.promised_us, self.before_us, self.after_us))

    @property
    def report(self):
        """The one with the middle promise."""
        return self.reports[self.promised_us.index(statistics.median_low(self.promised_us))]

    @property
    def differ(self):
        """By more than a promise may be off: more rounds are to tell."""
        _, before_us, after_us = self.medians
        return any((max(each) - min(each)) / 2 > tolerance_us(before_us, after_us)
                   for each in (self.promised_us, self.before_us, self.after_us))

    def are_enough(self, rules):
        """`rules`: of the findings on the change. Where there are none, all that counts is that little is promised."""
        done = len(self.reports)
        return done >= MOST_ROUNDS or (done >= ROUNDS and not (rules and self.differ))

    @property
    def each(self):
        return {name: [round(us, 1) for us in getattr(self, name)] for name in ("promised_us", "before_us", "after_us")}


def tolerance_us(before_us, after_us):
    return max(CLOSE * abs(before_us - after_us), OF_RUN * before_us)


def hidden_error(report):
    """How far hidden waits were foretold wrong, as a share of the run; None: it has too few waits."""
    replay, net_ns = report["replay"], report["process"]["net_ns"]
    # Every second wait is hidden.
    return replay["error_ns"] / net_ns if net_ns and 2 * replay["hidden_ns"] >= LEAST_WAITS * net_ns else None


def together_error(together_us, fault_us, clean_us):
    """How far the foretold time of the mended run is off, as a share of its time."""
    return abs(fault_us - together_us - clean_us) / clean_us


def programs(bundle):
    outcome = run([bundle.program("replays"), "--list"], bundle.environment())
    require(outcome.status == 0, outcome.explain())
    listed = [json.loads(line) for line in outcome.stdout.splitlines()]
    return [Program(each["program"], frozenset(filter(None, each["rules"].split(","))), each["in_range"])
            for each in listed]


def check_clock(cases, bundle, advised):
    """Returns the lines for the results."""
    machine = "" if bundle.sim else cases.check(PART, "calibrated", lambda: advice.calibrate(bundle, advised))
    lines, hidden = [], []
    for each in cases.check(PART, "programs", lambda: programs(bundle)) or []:
        cases.check(PART, each.name, lambda p=each: _check_program(bundle, advised, p, machine, lines, hidden))
    right = sum(each["right"] for each in lines)
    pairs = []
    for fault, clean in cases.check(PART, "pairs", lambda: _pairs(bundle)) or []:
        cases.check(PART, f"{fault.rule} {fault.way} and {clean.way}",
                    lambda f=fault, c=clean: _check_pair(bundle, advised, f, c, machine, pairs, hidden))
    if bundle.sim:
        return [{"note": "simcuda's times are not true: that the programs run and are reported is all that is checked"},
                *lines, *pairs]
    cases.check(PART, f"{len(lines)} programs", lambda: _judge(right >= LEAST_RIGHT, f"{right} of {len(lines)} right"))
    figures = [figure("replay.programs.right", [right], "1")]
    if hidden:
        figures += [figure("replay.hidden.error.median", hidden, "1"),
                    figure("replay.hidden.error.max", [max(hidden)], "1")]
    if pairs:
        largest = max(each["error"] for each in pairs)
        text = f"together off by {largest:.3f} at most"
        cases.check(PART, f"{len(pairs)} pairs", lambda: _judge(largest <= TOGETHER, text))
        figures.append(figure("together.error.max", [largest], "1"))
    return figures + lines + pairs


def _judge(holds, text):
    require(holds, text)
    return text


def _report(advised, command, machine, environment, options=()):
    """Of one recorded run."""
    return advised.report_of(command, options, environment, ("--machine", machine) if machine else ())


def _time_us(command, environment, what):
    """Microseconds that one run without umadvisor tells of itself."""
    outcome = run(command, environment)
    require(outcome.status == 0, outcome.explain())
    return sum(json.loads(line)[what] for line in outcome.stdout.splitlines())


def _add_hidden(rounds, hidden):
    errors = [error for error in map(hidden_error, rounds.reports) if error is not None]
    if errors:
        hidden.append(statistics.median(errors))


def _check_program(bundle, advised, program, machine, lines, hidden):
    before, after = (program.command(bundle, case) for case in ("before", "after"))
    environment, rounds = bundle.environment(), Rounds()
    while not (rounds.reports if bundle.sim else rounds.are_enough(program.rules)):
        report = _report(advised, before, machine, environment, program.options)
        rounds.add(report, program.promised_us(report), *(_time_us(each, environment, "us") for each in (before, after)))
    # What waits for work that was not recorded cannot be foretold.
    if not program.in_range:
        _add_hidden(rounds, hidden)
    promised_us, before_us, after_us = rounds.medians
    right = program.is_right(promised_us, before_us, after_us)
    lines.append({"program": program.name, "before_us": round(before_us, 1), "after_us": round(after_us, 1),
                  "gained_us": round(before_us - after_us, 1), "promised_us": round(promised_us, 1), "right": right,
                  "hidden_error": _rounded(hidden_error(rounds.report)), "found": _found(rounds.report),
                  "each": rounds.each})
    text = f"promised {promised_us:.0f} us, gained {before_us - after_us:.0f} of {before_us:.0f} us"
    return text if right or bundle.sim else f"WRONG: {text}"


def _found(report):
    """Rules, and how many microseconds each promises."""
    found = {}
    for each in report["findings"]:
        found[each["rule"]] = round(found.get(each["rule"], 0) + each["saving_ns"] / 1e3, 1)
    return found


def _rounded(error):
    return None if error is None else round(error, 4)


def _pairs(bundle):
    rows = advice.rows(bundle)
    return [tuple(next(row for row in rows if (row.rule, row.kind) == (rule, kind)) for kind in ("fault", "clean"))
            for rule in PAIRS]


def _check_pair(bundle, advised, fault, clean, machine, pairs, hidden):
    commands = [[bundle.program("rule_cases"), *row.arguments] for row in (fault, clean)]
    environments, rounds = [row.environment(bundle) for row in (fault, clean)], Rounds()
    for _ in range(1 if bundle.sim else ROUNDS):
        report = _report(advised, commands[0], machine, environments[0])
        rounds.add(report, report["together_ns"] / 1e3,
                   *(_time_us(command, environment, "run_us") for command, environment in zip(commands, environments)))
    _add_hidden(rounds, hidden)
    together_us, fault_us, clean_us = rounds.medians
    error = together_error(together_us, fault_us, clean_us)
    pairs.append({"rule": fault.rule, "way": fault.way, "fault_us": round(fault_us, 1), "clean_us": round(clean_us, 1),
                  "together_us": round(together_us, 1), "error": round(error, 3),
                  "hidden_error": _rounded(hidden_error(rounds.report)), "found": _found(rounds.report),
                  "each": rounds.each})
    return f"foretold {fault_us - together_us:.0f} us, is {clean_us:.0f} us"

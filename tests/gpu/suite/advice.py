"""Findings against programs whose faults are known (rule_cases): which rules speak, and whether what they promise is what
the clean twin gains."""

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from .cases import require
from .process import run
from .results import figure

PART = "advice"
KINDS = ("fault", "clean", "near")
FLOOR = 0.97       # of precision and of recall
MEDIAN_ERROR = 0.15
LARGEST_ERROR = 1  # a factor of two
SHOWN = 0.01       # of the time, or of the device's memory: less is told in one line
HAZARDS = "UMA-6"  # rules of the group: told in full whatever they save, and none may be false
FAILS = "UMA-701"  # likewise, as it saves nothing
REPEATS = 4        # in one process, of which the first is not counted
ROUNDS = 3         # processes of the fault and of its clean twin in turn: what the machine does meets both


@dataclass(frozen=True)
class Row:
    """One row of the program's own table: a program in the page of its rule, docs/rules/."""

    rule: str
    kind: str
    way: str
    also: frozenset
    machine: str = ""  # that it takes, as SIMCUDA_CONFIG has it

    @property
    def arguments(self):
        return ["--rule", self.rule, "--case", self.kind, "--way", self.way]

    @property
    def wanted(self):
        return frozenset({self.rule} if self.kind == "fault" else ())

    def environment(self, bundle):
        environment = bundle.environment()
        if bundle.sim and self.machine:
            environment["SIMCUDA_CONFIG"] += "," + self.machine
        return environment

    def lacks(self, machine):
        """Why a machine (a dict of how many it has of what) cannot hold it; empty: it can."""
        wanted = dict(each.split("=") for each in self.machine.split(",") if each)
        if not wanted.keys() <= machine.keys():
            return f"on simcuda alone: {self.machine}"
        few = [f"{count} {what}, this machine has {machine[what]}" for what, count in wanted.items() if machine[what] < int(count)]
        return "takes " + " and ".join(few) if few else ""


@dataclass
class Answer:
    """What was reported of one row."""

    row: Row
    told: frozenset
    full: frozenset       # of these, what the text tells in full
    memory: int = 0       # bytes that it promises
    promised: list = field(default_factory=list)  # microseconds that the row's own rule promises, of each traced run
    measured: list = field(default_factory=list)  # microseconds of each bare run

    @property
    def missed(self):
        return self.row.wanted - self.told

    @property
    def false(self):
        return self.full - self.row.wanted - self.row.also


def rows(bundle):
    outcome = run([bundle.program("rule_cases"), "--list"], bundle.environment())
    require(outcome.status == 0, outcome.explain())
    listed = [json.loads(line) for line in outcome.stdout.splitlines()]
    return [Row(each["rule"], each["case"], each["way"], frozenset(filter(None, each["also"].split(","))), each["machine"])
            for each in listed]


def machine_of(bundle):
    """What the machine has of what rows may take."""
    outcome = run([bundle.program("rule_cases"), "--machine"], bundle.environment())
    require(outcome.status == 0, outcome.explain())
    return json.loads(outcome.stdout)


def told(report, full=False):
    """Rules of the findings, with the rules that are parts of them; `full`: of those that the text tells in full."""
    least_ns, least_bytes = 0, 0
    if full:
        least_ns = SHOWN * report["process"]["duration_ns"]
        least_bytes = SHOWN * max((each["memory_bytes"] for each in report["devices"]), default=0)
    found = [each for each in report["findings"]
             if each["saving_ns"] >= max(1, least_ns) or each["saving_bytes"] >= max(1, least_bytes)
             or each["rule"].startswith((HAZARDS, FAILS))]
    unpriced = () if full else report.get("unpriced", ())
    return frozenset({rule for each in [*found, *unpriced] for rule in (each["rule"], *each["parts"])})


def answer(bundle, advised, row, machine):
    report = _report(bundle, advised, row, machine)
    memory = sum(each["saving_bytes"] for each in report["findings"] if each["rule"] == row.rule)
    return Answer(row, told(report), told(report, full=True), memory, [_promised(report, row)])


def _report(bundle, advised, row, machine):
    command = [bundle.program("rule_cases"), *row.arguments]
    return advised.report_of(command, environment=row.environment(bundle),
                             report_options=("--machine", machine) if machine else ())


def _promised(report, row):
    return sum(each["saving_ns"] for each in report["findings"] if each["rule"] == row.rule) / 1e3


def measure_pairs(bundle, advised, answers, machine):
    """Faults and their clean twins in turn, without umadvisor, and each time what a traced run of the fault promises."""
    for fault, clean in pairs(answers):
        for _ in range(ROUNDS):
            fault.measured += measure(bundle, fault.row)
            clean.measured += measure(bundle, clean.row)
        while len(fault.promised) < ROUNDS:
            fault.promised.append(_promised(_report(bundle, advised, fault.row, machine), fault.row))
    return f"{ROUNDS} rounds of {2 * len(pairs(answers))} rows"


def pairs(answers):
    """The first fault and the first clean twin of each rule that has both and promises time, not memory alone or a right result."""
    by_rule = defaultdict(dict)
    for each in answers:
        if each.row.rule.startswith(HAZARDS):
            continue
        by_rule[each.row.rule].setdefault(each.row.kind, each)
    return [(of["fault"], of["clean"]) for _, of in sorted(by_rule.items())
            if {"fault", "clean"} <= of.keys() and not (of["fault"].memory and not of["fault"].promised[0])]


def measure(bundle, row):
    """Microseconds of the part that the fault is in, without umadvisor."""
    outcome = run([bundle.program("rule_cases"), *row.arguments, "--repeat", str(REPEATS)], row.environment(bundle))
    require(outcome.status == 0, outcome.explain())
    return [json.loads(line)["us"] for line in outcome.stdout.splitlines()][1:]


def errors(answers):
    """One line a pair: what was promised and what was gained."""
    for fault, clean in pairs(answers):
        fault_us, clean_us, promised = (statistics.median(of) for of in (fault.measured, clean.measured, fault.promised))
        gained = fault_us - clean_us
        # A factor each way: half of it and twice it are the same error.
        error = max(gained / promised, promised / gained) - 1 if gained > 0 and promised > 0 else None
        yield {"rule": fault.row.rule, "way": fault.row.way, "fault_us": round(fault_us, 1), "clean_us": round(clean_us, 1),
               "gained_us": round(gained, 1), "promised_us": round(promised, 1),
               "promised_each_us": [round(each, 1) for each in fault.promised],
               "error": None if error is None else round(error, 3)}


def check_advice(cases, bundle, advised):
    """Returns the lines for the results."""
    answers = []
    machine = "" if bundle.sim else cases.check(PART, "calibrated", lambda: calibrate(bundle, advised))
    has = None if bundle.sim else cases.check(PART, "machine", lambda: machine_of(bundle)) or {}
    for row in cases.check(PART, "rows", lambda: rows(bundle)) or []:
        name = " ".join((row.rule, row.kind, row.way))
        if lacks := "" if bundle.sim else row.lacks(has):
            cases.not_run(PART, name, lacks)
            continue
        cases.check(PART, name, lambda r=row: _check_row(bundle, advised, r, machine, answers))
    figures, hits = [], sum(bool(each.row.wanted) and not each.missed for each in answers)
    false, missed = sum(len(each.false) for each in answers), sum(bool(each.missed) for each in answers)
    cases.check(PART, f"{len(answers)} rows", lambda: _judge(hits, false, missed, figures))
    cases.check(PART, "hazards", lambda: _judge_hazards(answers, figures))
    suffix = ".sim" if bundle.sim else ""
    complete = defaultdict(set)
    for each in answers:
        complete[each.row.rule].add(each.row.kind)
    figures.append(figure("rules.count" + suffix, [sum(kinds == set(KINDS) for kinds in complete.values())], "1"))
    for line in figures[:-1]:
        line["metric"] += suffix
    if not bundle.sim:
        cases.check(PART, "pairs", lambda: measure_pairs(bundle, advised, answers, machine))
    return figures + ([] if bundle.sim else _estimates(cases, answers)) + [
        {"wrong": " ".join((each.row.rule, each.row.kind, each.row.way)), "reported": sorted(each.told)}
        for each in answers if each.false or each.missed]


def calibrate(bundle, advised):
    """A file of what this machine does, for reports."""
    file = str(advised.new_folder() / "machine.json")
    outcome = run([bundle.umadvisor, "calibrate", "-o", file], bundle.environment())
    require(outcome.status == 0, outcome.explain())
    return file


def _check_row(bundle, advised, row, machine, answers):
    found = answer(bundle, advised, row, machine)
    answers.append(found)
    promised = f", {found.promised[0]:.0f} us" if found.promised[0] else ""
    return (", ".join(sorted(found.told)) or "none") + promised


def _judge(hits, false, missed, figures):
    precision, recall = (hits / (hits + other) if hits + other else 0 for other in (false, missed))
    figures += [figure("rules.precision", [precision], "1"), figure("rules.recall", [recall], "1")]
    text = f"precision {precision:.3f}, recall {recall:.3f}: {hits} hits, {missed} misses, {false} false"
    require(min(precision, recall) >= FLOOR, text)
    return text


def _judge_hazards(answers, figures):
    """A false hazard costs trust in all others: none is let pass."""
    faults = [each for each in answers if each.row.rule.startswith(HAZARDS) and each.row.wanted]
    hits = sum(not each.missed for each in faults)
    false = sum(sum(rule.startswith(HAZARDS) for rule in each.told - each.row.wanted - each.row.also) for each in answers)
    recall = hits / len(faults) if faults else 0
    figures += [figure("hazards.recall", [recall], "1"), figure("hazards.false", [false], "1")]
    text = f"{hits} of {len(faults)} hazards told, {false} false in {len(answers)} rows"
    require(recall >= FLOOR and false == 0, text)
    return text


def _estimates(cases, answers):
    lines = list(errors([each for each in answers if each.measured]))
    known = [each["error"] for each in lines if each["error"] is not None]
    if not known:
        return lines
    figures = [figure("estimate.error.median", [statistics.median(known)], "1"), figure("estimate.error.max", [max(known)], "1")]
    cases.check(PART, f"estimates of {len(known)} pairs", lambda: _judge_estimates(known, len(lines)))
    return figures + lines


def _judge_estimates(known, pairs):
    text = f"median error {statistics.median(known):.3f}, largest {max(known):.3f}, {pairs - len(known)} without"
    require(statistics.median(known) <= MEDIAN_ERROR and max(known) <= LARGEST_ERROR and len(known) == pairs, text)
    return text

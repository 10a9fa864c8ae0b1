"""Verdicts against runs that were labelled before anyone measured (habits.py): precision and recall of what the report
says, where the driver's queue tells of managed memory and where residency alone does."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import habits
from .cases import FAIL, NOT_RUN, Failure, require
from .results import figure

PART = "verdicts"
NONE = "none"                          # the label of a run that deserves no verdict
MODES = {"queue": (), "pagemap": ("--um", "pagemap"), "cupti": ("--um", "cupti")}
USUAL = ("queue", "pagemap")  # unless others are asked for
FLOORS = {"queue": 0.97, "pagemap": 0.9, "cupti": 0.9}  # of precision and of recall
FLOORS_ON_SIMCUDA = {"queue": 0.9, "pagemap": 0, "cupti": 0.9}  # of few runs

# Runs together: with what each may hold of managed memory they stay below the suite's limit of 8 GiB.
AT_ONCE = 3
AT_ONCE_ON_SIMCUDA = 2
HELD_AT_ONCE = AT_ONCE * habits.MOST_AT_ONCE


@dataclass(frozen=True)
class Answer:
    """What was reported of one run."""

    run: habits.Run
    mode: str
    reported: frozenset

    @property
    def hit(self):
        return self.run.label != NONE and self.run.label in self.reported

    @property
    def missed(self):
        return self.run.label != NONE and self.run.label not in self.reported

    @property
    def false(self):
        return self.reported - {self.run.label, *self.run.way.also}

    @property
    def borderline(self):
        return self.run.way.case == "borderline"


@dataclass(frozen=True)
class Score:
    hits: int
    misses: int
    false: int

    @property
    def precision(self):
        return _share(self.hits, self.false)

    @property
    def recall(self):
        return _share(self.hits, self.misses)


def _share(part, rest):
    """None: of nothing."""
    return part / (part + rest) if part + rest else None


def score(answers):
    """Of all verdicts together."""
    return Score(sum(each.hit for each in answers), sum(each.missed for each in answers),
                 sum(len(each.false) for each in answers))


def score_by_verdict(answers):
    hits = Counter(each.run.label for each in answers if each.hit)
    misses = Counter(each.run.label for each in answers if each.missed)
    false = Counter(verdict for each in answers for verdict in each.false)
    return {verdict: Score(hits[verdict], misses[verdict], false[verdict])
            for verdict in sorted({*hits, *misses, *false})}


def figures(answers, sim):
    """The lines that a suite's results have of these answers: totals, then each verdict, then each run that was wrong."""
    yield from _totals(answers, ".sim" if sim else "")
    for mode in MODES:
        plain = [each for each in answers if each.mode == mode and not each.borderline]
        for verdict, found in score_by_verdict(plain).items():
            yield {"verdict": verdict, "mode": mode, "precision": _rounded(found.precision),
                   "recall": _rounded(found.recall), "hits": found.hits, "misses": found.misses, "false": found.false}
    for each in answers:
        if each.missed or each.false:
            yield {"wrong": each.run.arguments, "label": each.run.label, "reported": sorted(each.reported),
                   "mode": each.mode}


def _totals(answers, suffix):
    for mode in MODES:
        for name, borderline in (("", False), (".borderline", True)):
            chosen = [each for each in answers if each.mode == mode and each.borderline == borderline]
            found = score(chosen)
            for what, value in (("precision", found.precision), ("recall", found.recall)):
                if value is not None:
                    yield {**figure(f"um.verdict.{mode}{name}.{what}{suffix}", [value], "1"), "n": len(chosen)}


def _rounded(share):
    return None if share is None else round(share, 3)


@dataclass(frozen=True)
class Places:
    """What a verdict must name beside the allocation: kernels of which one is named, words of a source line."""

    habit: str
    way: str
    kernels: tuple = ()
    host: str = ""
    prefetch: bool = False


PLACES = (
    Places("thrashing", "turns-100us", ("add_one",), "words[i"),
    Places("false_sharing", "in-page", ("add_one",), "*flag ="),
    Places("read_only_bouncing", "both-read", ("add_up",), "words[i"),
    Places("ping_pong", "host-loop", ("add_one",), "words[i"),
    Places("first_touch", "fill-kernel", ("add_up",)),
    Places("host_populate", "counted", ("add_one",), "words[i"),
    Places("read_back", "read-all", ("add_one",), "words[i"),
    Places("remote_access", "many", ("add_up",)),
    Places("oversubscribed", "passes", ("add_one", "add_up")),
    Places("prefetch_ping_pong", "unused", prefetch=True),
    Places("late_prefetch", "after", ("add_up",), prefetch=True),
    Places("redundant_prefetch", "resident", prefetch=True),
    Places("unused_prefetch", "faulted-back", prefetch=True),
)


def check_places(cases, bundle, advised):
    """Of each verdict one run whose report must name the lines."""
    for places in PLACES:
        if bundle.sim or places.habit != "oversubscribed":
            cases.check(PART, f"places: {places.habit}", lambda p=places: _check_places(bundle, advised, p))


def _source(place):
    """The text of a line of the labelled programs, wherever they were built."""
    if not place or not place.get("file"):
        return ""
    source = Path(__file__).resolve().parents[1] / "programs" / "habits" / Path(place["file"]).name
    lines = source.read_text().splitlines() if source.is_file() else []
    return lines[place["line"] - 1] if place["line"] <= len(lines) else ""


def _check_places(bundle, advised, places):
    way = next(each for each in habits.WAYS if (each.habit, each.case, each.way) == (places.habit, "clear", places.way))
    large = places.habit == "oversubscribed"
    run = habits.Run(way, (64 if large else 1) * habits.MIB, 1, 8, 77, (40 if large else 128) * habits.MIB * bundle.sim)
    found = [each for each in _verdicts(bundle, advised, run, "queue") if each["verdict"] == places.habit]
    require(len(found) == 1, f"{len(found)} such verdicts")
    verdict = found[0]
    require("cudaMallocManaged" in _source(verdict["line"]), f"allocated at {verdict['line']}")
    kernels = [each["function"] for each in verdict["kernels"]]
    require(not places.kernels or any(name in each for each in kernels for name in places.kernels), f"kernels {kernels}")
    hosts = [_source(each) for each in verdict["host_lines"]]
    require(not places.host or any(places.host in each for each in hosts), f"host lines {verdict['host_lines']}")
    # The call fills two lines.
    prefetches = [_source(each) + _source({**each, "line": each["line"] + 1}) for each in verdict["prefetches"]
                  if each and each.get("line")]
    require(not places.prefetch or any("cudaMemPrefetchAsync" in each for each in prefetches), f"prefetches {verdict['prefetches']}")
    return ", ".join(text for text in (verdict["text"], *kernels) if text)


# The rule that speaks of a verdict; ids never change.
RULES = {"thrashing": "UMA-201", "ping_pong": "UMA-202", "first_touch": "UMA-203", "host_populate": "UMA-204",
         "read_back": "UMA-205", "false_sharing": "UMA-206", "read_only_bouncing": "UMA-207", "remote_access": "UMA-208",
         "oversubscribed": "UMA-209", "prefetch_ping_pong": "UMA-210", "late_prefetch": "UMA-211",
         "redundant_prefetch": "UMA-212", "unused_prefetch": "UMA-213"}
POPULATION = "UMA-214"
LARGE = ("redundant_prefetch", "oversubscribed")  # what costs little must be large to be worth a finding


def check_rules(cases, bundle, advised):
    """Of each clear and near way one run that is large enough for what it deserves to be a finding. On simcuda alone,
    where it is known what each step costs."""
    for way in habits.WAYS:
        if bundle.sim and way.case != "borderline":
            cases.check(PART, f"rules: {way.habit}, {way.case}, {way.way}", lambda w=way: _check_rules(bundle, advised, w))


def _check_rules(bundle, advised, way):
    large = way.habit in LARGE
    size = min(way.most, (64 if large else 16) * habits.MIB)
    tight = way.habit == "oversubscribed" and way.case == "clear"
    run = habits.Run(way, size, 1, 6 if large else 12, 77, (40 if tight else 128) * habits.MIB)
    report = _report(bundle, advised, run, "queue")
    found = {finding["rule"]: finding for finding in report["findings"]}
    told = {*found, *(part for finding in found.values() for part in finding["parts"])}
    # Arrays that a kernel fills first have their pages made by its faults: a finding, but no verdict.
    allowed = {RULES[each] for each in {way.label, *way.also} - {NONE}} | {POPULATION}
    # Who reads back what the host has never had gains nothing by a prefetch: a verdict, but no finding.
    wanted = {RULES[way.label]} if way.label not in (NONE, "read_back") else set()
    require(wanted <= told, f"no {', '.join(wanted)}; found: {', '.join(sorted(told)) or 'none'}")
    require(told <= allowed, f"found {', '.join(sorted(told - allowed))} as well")
    duration = report["process"]["duration_ns"]
    for rule, finding in found.items():
        require(0 < finding["saving_ns"] <= duration, f"{rule} saves {finding['saving_ns']} ns of {duration}")
        allocation = finding["allocation"]
        require(finding["line"] and (allocation["line"] or allocation["text"].startswith("variable ")),
                f"{rule} names no line")
    return ", ".join(f"{rule} {finding['saving_ns'] / 1e6:.3g} of {duration / 1e6:.3g} ms"
                     for rule, finding in found.items()) or "none"


def check_verdicts(cases, bundle, advised, count, modes, pace):
    """Returns the lines for the results: what the runs were chosen by, then the figures."""
    commit = cases.check(PART, "commit that the runs are chosen by", bundle.verdicts_commit)
    if not commit:
        return []
    seed = int(commit[:8], 16)
    answers = _answers(cases, bundle, advised, habits.cases(seed, count, bundle.sim), modes, pace)
    for mode in modes:
        plain = [each for each in answers if each.mode == mode and not each.borderline]
        cases.check(PART, f"{mode}: {len(plain)} runs, clear and near",
                    lambda m=mode, p=plain: _judge(score(p), (FLOORS_ON_SIMCUDA if bundle.sim else FLOORS)[m]))
    return [{"verdicts_commit": commit, "seed": seed, "runs": count}, *figures(answers, bundle.sim)]


def _judge(found, floor):
    text = (f"precision {_rounded(found.precision)}, recall {_rounded(found.recall)}: "
            f"{found.hits} hits, {found.misses} misses, {found.false} false")
    require(min(found.precision or 0, found.recall or 0) >= floor, f"{text}; at least {floor} of both is asked for")
    return text


def _answers(cases, bundle, advised, runs, modes, pace):
    """A run that ends badly or leaves no report is a failed case, and no answer."""
    begun = time.monotonic()

    def answer(run, mode):
        if time.monotonic() > begun + pace.last_start:
            return None
        return Answer(run, mode, _reported(bundle, advised, run, mode))
    with ThreadPoolExecutor(AT_ONCE_ON_SIMCUDA if bundle.sim else AT_ONCE) as pool:
        waiting = [(run, mode, pool.submit(answer, run, mode)) for run in runs for mode in modes]
    answers = []
    for run, mode, each in waiting:
        try:
            answers.append(each.result())
        except Failure as failure:
            cases.add(PART, f"{mode}: {' '.join(run.arguments)}", FAIL, str(failure))
    late = answers.count(None)
    if late:
        cases.add(PART, f"{late} of {len(waiting)} runs", NOT_RUN, f"not reached within {pace.last_start:.0f} s")
    return [each for each in answers if each]


def _reported(bundle, advised, run, mode):
    return frozenset(each["verdict"] for each in _verdicts(bundle, advised, run, mode))


def _verdicts(bundle, advised, run, mode):
    return (_report(bundle, advised, run, mode)["managed"] or {}).get("verdicts", [])


def _report(bundle, advised, run, mode):
    command = [bundle.program("managed_habits"), *run.arguments]
    report = advised.report_of(command, MODES[mode], bundle.environment(**run.environment))
    source = (report["managed"] or {}).get("source", mode)
    require(source == mode, f"{source} told of managed memory")
    return report

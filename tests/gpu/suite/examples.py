"""Every example, bare and under umadvisor: same output and status, the finding it is named after, copies as CUPTI
counts them."""

from dataclasses import dataclass

from .advised import copy_totals, describe_totals, rules
from .cases import FAIL, OK, require
from .counter import counter
from .process import run
from .results import figure, result_text

PART = "gpu"


@dataclass(frozen=True)
class Example:
    program: str
    finding: tuple = ()      # rule ids of which one must be in the report
    absent: tuple = ()       # rule ids that must not be
    arguments: tuple = ()
    status: int = 0          # expected exit status on a real card
    device_memory: bool = False  # calls cudaMalloc

    @property
    def name(self):
        return " ".join((self.program, *self.arguments))

    def expected_status(self, bundle):
        return 0 if bundle.sim else self.status


# The clean twins of a habit, and the orders of overlap, must show none of these.
COPY_RULES = ("UMA-101", "UMA-102", "UMA-103")
OVERLAP_RULES = ("UMA-109", "UMA-110", "UMA-111")
FAULT_RULES = ("UMA-201", "UMA-202", "UMA-203")

EXAMPLES = (
    # Which of them depends on whether the host's writing it was seen.
    Example("vector_add_managed", ("UMA-203", "UMA-204")),
    Example("prefetched_add", absent=FAULT_RULES),
    Example("pingpong", ("UMA-202",)),
    Example("pingpong_resident", absent=FAULT_RULES),
    Example("pingpong_prefetched", absent=("UMA-203",)),
    # Which of them depends on how fast the host is through with it.
    Example("static_managed", ("UMA-201", "UMA-202")),
    Example("pageable_copies", ("UMA-102",), device_memory=True),
    Example("pinned_copies", absent=COPY_RULES + OVERLAP_RULES, device_memory=True),
    Example("graph_replay", absent=COPY_RULES, device_memory=True),
    Example("small_copies", ("UMA-103",), device_memory=True),
    Example("batched_copies", absent=COPY_RULES, device_memory=True),
    Example("fresh_scratch", ("UMA-401",), device_memory=True),
    Example("kept_scratch", absent=("UMA-401", "UMA-501"), device_memory=True),
    Example("checked_often", ("UMA-501",), device_memory=True),
    Example("checked_once", absent=("UMA-401", "UMA-501"), device_memory=True),
    Example("overlap", absent=COPY_RULES, arguments=("--order", "serial"), device_memory=True),
    *(Example("overlap", absent=COPY_RULES + OVERLAP_RULES, arguments=("--order", order), device_memory=True)
      for order in ("per-stream", "phase-wise")),
    Example("oversubscribe", status=2),
)

RUNTIMES = ("shared", "static")


def check_examples(cases, bundle, advised):
    for example in EXAMPLES:
        for runtime in RUNTIMES:
            cases.check(PART, f"{example.name} [{runtime}]",
                        lambda e=example, r=runtime: _check_one(bundle, advised, e, r))


def _check_one(bundle, advised, example, runtime):
    command = [bundle.program(example.program, runtime), *example.arguments]
    expected = example.expected_status(bundle)
    bare = run(command, bundle.environment())
    require(bare.status == expected, f"bare: {bare.explain()}, expected {expected}")

    independent = counter(bundle) if expected == 0 else None
    environment = bundle.environment(**(independent.environment if independent else {}))
    outcome, traces = advised.run(command, environment=environment)
    require(outcome.status == bare.status, f"under umadvisor: {outcome.explain()}, bare {bare.status}")
    require(result_text(outcome) == result_text(bare), "output differs from the bare run")
    if expected != 0:
        return f"refuses with {expected}, as bare"

    require(traces, "no trace was written")
    report = advised.report(traces[0])
    found = rules(report)
    expected_rules = " or ".join(example.finding)
    require(not example.finding or found & set(example.finding),
            f"no {expected_rules} finding; found: {', '.join(sorted(map(str, found))) or 'none'}")
    unwanted = found & set(example.absent)
    require(not unwanted, f"clean program has finding {', '.join(sorted(unwanted))}")
    recorded = copy_totals(report["copies"])
    counted = copy_totals(independent.read()["copies"])
    require(recorded == counted, f"copies differ: trace has {describe_totals(recorded)}; "
                                 f"{independent.name} has {describe_totals(counted)}")
    return f"{expected_rules or 'clean'}; {describe_totals(recorded)}"


def example_figures(cases):
    agree, failed = cases.count(PART, OK), cases.count(PART, FAIL)
    return [figure("examples.total", [agree + failed], "1"), figure("examples.agree", [agree], "1")]

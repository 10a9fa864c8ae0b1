"""The residency model against the card: the driver's rule for thrashing, and what simcuda counts of the same programs."""

from .bundle import Bundle
from .cases import require
from .counter import CuptiCounter, SimcudaCounter
from .managed import PART, PROGRAMS
from .process import run
from .results import figure

GAPS = ("100us", "400us", "600us", "5ms")  # between host and device
AGREEMENT = 0.95                           # of pages, precision and recall
SIZE = ("--mib", "12", "--rounds", "5")
SIZED = tuple(each for each in PROGRAMS if each != "static_managed")  # that one's size is part of the program
BYTES, FAULTS = ("to_device_bytes", "to_host_bytes"), ("host_faults", "device_faults")
LIMITS = {"bytes": 0.05, "faults": 0.20}


def _counts(*numbers):
    return dict(zip((*BYTES, *FAULTS), numbers))


# By CUPTI on one H200 (driver 580.159.04).
COUNTED = {"pingpong": _counts(62914560, 62914560, 216, 95), "vector_add_managed": _counts(8388608, 4194304, 36, 13),
           "prefetched_add": _counts(8388608, 4194304, 24, 0), "pingpong_prefetched": _counts(62914560, 62914560, 36, 0)}


def check_thrashing(cases, bundle, advised):
    """Returns the least precision or recall of any gap."""
    found = []
    for gap in GAPS:
        cases.check(PART, f"thrashing, turns {gap} apart: the rule finds the driver's pages",
                    lambda g=gap: _check_gap(bundle, advised, g, found))
    return [figure("um.thrash.agreement", [min(found)], "1")] if found else []


def _check_gap(bundle, advised, gap, found):
    case = {"100us": "clear", "5ms": "near"}.get(gap, "borderline")
    command = [bundle.program("managed_habits"), "--habit", "thrashing", "--case", case, "--way", f"turns-{gap}",
               "--bytes", str(4 << 20), "--streams", "1", "--rounds", "10", "--seed", "5"]
    _, traces = advised.run_well(command, ["--um-detail", "full"])
    pages = (advised.report(traces[0])["managed"] or {}).get("thrashing_pages")
    require(pages is not None, "no moves were told")
    shares = [pages["both"] / pages[of] if pages[of] else 1 for of in ("by_rule", "told")]
    found.extend(shares)
    text = f"told {pages['told']}, by the rule {pages['by_rule']}, both {pages['both']}"
    require(min(shares) >= AGREEMENT, f"{text}; {AGREEMENT} of either is asked for")
    return text


def check_simcuda(cases, bundle):
    """Returns how far simcuda's counts are from the card's, at the worst. Its programs lie in the bundle, too. Without a
    card they are held against what one counted."""
    worst = {"bytes": [], "faults": []}
    simulated = Bundle(bundle.root, sim=True)
    for program in SIZED:
        cases.check(PART, f"{program}: simcuda counts what the card does",
                    lambda p=program: _compare(bundle, simulated, p, worst))
    if bundle.sim:
        return []
    return [figure(f"um.sim.{what}.error", [max(errors)], "1") for what, errors in worst.items() if errors]


def _count(bundle, independent, program):
    outcome = run([bundle.program(program), *SIZE], bundle.environment(**independent.environment))
    require(outcome.status == 0, f"{independent.name}: {outcome.explain()}")
    return independent.read()


def _compare(bundle, simulated, program, worst):
    model = _count(simulated, SimcudaCounter(simulated), program)
    card = COUNTED[program] if bundle.sim else _count(bundle, CuptiCounter(bundle, unified_memory=True), program)
    errors = {what: max(_error(model[name], card[name]) for name in names)
              for what, names in (("bytes", BYTES), ("faults", FAULTS))}
    for what, error in errors.items():
        worst[what].append(error)
    text = ", ".join(f"{name} {model[name]} of {card[name]}" for name in (*BYTES, *FAULTS))
    require(all(errors[what] <= limit for what, limit in LIMITS.items()), f"{text}; {LIMITS} is allowed")
    return text


def _error(ours, theirs):
    return abs(ours - theirs) / theirs if theirs else float(ours != 0)

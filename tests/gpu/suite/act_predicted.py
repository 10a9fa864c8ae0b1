"""What simcuda says that programs move and take, bare and under --act, against a card: what is tried there only, as on a card
that is too small, is worth as much."""

from .act_order import BUILT_TO_SIZE, PART, SIZE, check_order
from .advised import Advised
from .bundle import Bundle
from .by_hand import PROGRAMS
from .cases import require
from .counted import count_both
from .results import figure

LIMIT = 0.25
BYTES = ("to_device_bytes", "to_host_bytes")

# Size, and the bytes each way that CUPTI counted on one H200 (driver 580.159.04), bare and under --act relieve.
COUNTED = {"read_by_both": (32, (687865856, 687865856), (100663296, 83886080)),
           "renewed_later": (32, (687865856, 687865856), (436244480, 419430400)),
           "renewed_often": (32, (687865856, 687865856), (570437632, 553648128)),
           "renewed_seldom": (32, (687865856, 687865856), (100675584, 83886080)),
           "shared_flags": (16, (17080320, 17018880), (16977920, 16916480)),
           "ping_pong": (64, (536870912, 536870912), (536870912, 536870912)),
           "resident": (96, (100663296, 50331648), (100663296, 50331648))}


def check_act_predicted(cases, bundle, advised):
    """Returns the largest error in bytes, and how well the order of times agrees. Without a card simcuda is held against
    what one counted."""
    errors = []
    simulated = Bundle(bundle.root, sim=True)
    with_simcuda = Advised(simulated)
    try:
        for name, (mib, *counted) in COUNTED.items():
            cases.check(PART, f"{name} --act relieve", lambda n=name, m=mib, c=counted: _compare(
                n, ("--mib", str(m)), "relieve", (simulated, with_simcuda), (bundle, advised), c, errors))
        for name in () if bundle.sim else (each for each in PROGRAMS if each != BUILT_TO_SIZE):
            cases.check(PART, f"{name} --act prefetch", lambda n=name: _compare(
                n, SIZE, "prefetch", (simulated, with_simcuda), (bundle, advised), None, errors))
        order = check_order(cases, bundle, advised, (simulated, with_simcuda))
    finally:
        with_simcuda.close()
    return ([figure("predicted.bytes.error.max", [max(errors)], "1")] if errors else []) + order


def _compare(name, size, act, model, card, counted, errors):
    predicted = _bytes(*model, name, size, act)
    found = counted if card[0].sim else _bytes(*card, name, size, act)
    wrong = [abs(ours - theirs) / max(theirs, 1) for run, other in zip(predicted, found) for ours, theirs in zip(run, other)]
    errors.append(max(wrong))
    text = f"bare {predicted[0]} of {tuple(found[0])}, acted {predicted[1]} of {tuple(found[1])}"
    require(max(wrong) <= LIMIT, f"{text}; {LIMIT:.0%} is allowed")
    return text


def _bytes(bundle, advised, name, size, act):
    return [tuple(run.counts[each] for each in BYTES)
            for run in count_both(bundle, advised, [bundle.program(name), *size], act)]

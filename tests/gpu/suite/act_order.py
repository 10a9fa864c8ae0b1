"""Whether simcuda ranks programs by the time they take, bare and under --act prefetch, as a card does. Arrays of one size
and all else left as it is, programs differ in how they move memory."""

import statistics

from .by_hand import PROGRAMS, acted, bare
from .cases import require
from .contest import FEWEST_ROUNDS, Contest, hold
from .results import figure

PART = "act-predicted"
SIZE = ("--mib", "16")
WAYS = ("bare", "act")
LEAST = 0.9  # of Spearman's rank correlation
BUILT_TO_SIZE = "static_arrays"  # whatever --mib says
OTHERS = (BUILT_TO_SIZE, "matrix_product")  # that takes its time to compute: simcuda prices memory

# Microseconds on one H200 (driver 580.159.04), bare and under --act prefetch: medians of three runs.
MEASURED = {"batches": (29383, 26009), "first_touch": (2724, 1323), "graph_rounds": (40632, 30350), "histogram":
            (12927, 4886), "k_means": (9395, 5001), "kernel_chain": (14255, 11036), "linked_nodes": (10002, 9102),
            "many_small": (56703, 48261), "phases": (38491, 32715), "ping_pong": (58826, 42523), "pointer_table":
            (22170, 16511), "reduction": (7891, 2442), "small_result": (17244, 4689), "small_update": (6943, 3925),
            "sparse_product": (19027, 11137), "stencil": (26731, 12589), "stream_buffers": (57044, 29213),
            "struct_of_pointers": (27997, 17923), "uploaded_pointers": (29661, 25236)}


def check_order(cases, bundle, advised, model):
    """`model`: a Bundle for simcuda and its Advised. Without a card simcuda is held against what one took. Returns the
    rank correlations, and each program's times."""
    names = [name for name in PROGRAMS if name not in OTHERS]
    predicted = _work(*model, names, 1)
    measured = MEASURED if bundle.sim else _work(bundle, advised, names, FEWEST_ROUNDS)
    found = []
    for number, way in enumerate(WAYS):
        cases.check(PART, f"order of time, {way}", lambda n=number, w=way: _compare(
            {name: each[n] for name, each in predicted.items()}, {name: each[n] for name, each in measured.items()}, w, found))
    return found + [{"program": name, "simcuda_us": predicted[name], "card_us": list(measured[name])} for name in names]


def _work(bundle, advised, names, rounds):
    contests = [Contest(name, {"bare": bare(bundle, name, *SIZE), "act": acted(bundle, advised, name, *SIZE)}) for name in names]
    hold(contests, rounds, 0)
    for contest in contests:
        if contest.failure:
            raise contest.failure
    return {each.name: [statistics.median(time["work"] for time in each.times[way]) for way in WAYS] for each in contests}


def _compare(predicted, measured, way, found):
    correlation = rank_correlation(predicted, measured)
    found.append(figure(f"predicted.order.{way}", [correlation], "1"))
    text = f"rank correlation {correlation:.2f} of {len(predicted)} programs"
    require(correlation >= LEAST, f"{text}; {LEAST} is asked for")
    return text


def rank_correlation(one, other):
    """Spearman's, of two {name: number} with the same names and no equal numbers."""
    ranks = [{name: rank for rank, name in enumerate(sorted(each, key=each.get))} for each in (one, other)]
    return statistics.correlation(*([each[name] for name in one] for each in ranks))

"""Medians with an interval, by resampling what was measured."""

import random
import statistics

from .results import figure

SAMPLES = 2000
CONFIDENCE = 0.95


def interval(groups, over=None):
    """Where the median lies with a probability of CONFIDENCE. `groups` are the values of one process each: processes differ, so
    whole ones are drawn first, and then of their values. `over`: values by whose median it is divided."""
    draw = random.Random(1)
    medians = []
    for _ in range(SAMPLES):
        values = []
        for group in draw.choices(groups, k=len(groups)):
            values += draw.choices(group, k=len(group))
        medians.append(statistics.median(values) / (statistics.median(draw.choices(over, k=len(over))) if over else 1))
    medians.sort()
    cut = int(SAMPLES * (1 - CONFIDENCE) / 2)
    return [round(medians[cut], 4), round(medians[-cut - 1], 4)]


def figure_of(metric, groups, unit, over=None):
    """A figure of results.py of all values, divided by the median of `over` if that is given, with their interval."""
    values = [value for group in groups for value in group]
    by = statistics.median(over) if over else 1
    made = figure(metric, [value / by for value in values], unit)
    return made | {"value": round(statistics.median(values) / by, 4), "groups": len(groups), "interval": interval(groups, over)}

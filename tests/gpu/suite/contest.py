"""One program run in several ways in turn, so that what a machine does meanwhile falls on all of them alike."""

import statistics
import time

from .cases import Failure, require
from .results import result_text, times

FEWEST_ROUNDS = 3  # of which a median still means something


class Contest:
    """`ways`: {name: function that runs the program with --time and returns its Outcome}. Every way must print the same
    result. Round after round fills `times`: {way: [{metric: microseconds}, ...]}; which way comes first changes from
    round to round. Those in `seldom` run in the first rounds only, where they need not be known as well as the others."""

    def __init__(self, name, ways, seldom=()):
        self.name = name
        self.ways = ways
        self.seldom = seldom
        self.times = {way: [] for way in ways}
        self.failure = None

    def run_once(self):
        done = max(map(len, self.times.values()))
        turn = [way for way in self.ways if done < FEWEST_ROUNDS or way not in self.seldom]
        outcomes = {way: self.ways[way]() for way in (reversed(turn) if done % 2 else turn)}
        for way, outcome in outcomes.items():
            require(outcome.status == 0, f"{way}: {outcome.explain()}")
        first, *others = outcomes
        for way in others:
            require(result_text(outcomes[way]) == result_text(outcomes[first]), f"{way}: output differs from {first}'s")
        for way, outcome in outcomes.items():
            self.times[way].append(times(outcome))

    def ratios(self, above, below, metric):
        """Of each round that had both the time of one way over that of another."""
        return [one[metric] / other[metric] for one, other in zip(self.times[above], self.times[below])]


def hold(contests, rounds, last_start):
    """Runs all contests round by round; no round is begun after `last_start` seconds, but for the fewest. A contest that
    fails keeps its failure and is run no more."""
    begun = time.monotonic()
    for number in range(rounds):
        if number >= FEWEST_ROUNDS and time.monotonic() > begun + last_start:
            return
        for contest in contests:
            if not contest.failure:
                try:
                    contest.run_once()
                except Failure as failure:
                    contest.failure = failure


def enter(cases, part, contest, metric):
    """The row of a contest: the median of each way. False where it failed."""
    def detail():
        if contest.failure:
            raise contest.failure
        middle = {way: statistics.median(each[metric] for each in held) for way, held in contest.times.items()}
        return f"{metric} " + ", ".join(f"{way} {value:.0f} us" for way, value in middle.items())
    cases.check(part, contest.name, detail)
    return not contest.failure

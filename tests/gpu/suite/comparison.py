"""Two outputs are compared as strictly as the bare program allows: what two bare runs already disagree on (times, the
order in which threads print) is no sign that umadvisor was noticed."""

import re

# Also hexadecimal ones: addresses. A number that grows by a digit moves what stands in columns, so spaces fold too.
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")
_VERDICT = re.compile(r"pass|fail|success|error|correct|wrong|\bok\b|waiv|complete|result", re.IGNORECASE)


def _mask(line):
    return " ".join(_NUMBER.sub("#", line).split())


# From strict to loose: (name, what is left of the lines of an output).
LEVELS = (
    ("exact", lambda lines: lines),
    ("lines in any order", sorted),
    ("numbers masked", lambda lines: [_mask(line) for line in lines]),
    ("numbers masked, any order", lambda lines: sorted(_mask(line) for line in lines)),
    ("verdict lines", lambda lines: sorted({_mask(line) for line in lines if _VERDICT.search(line)})),
    ("status alone", lambda lines: []),
)


def strictest(texts):
    """The index of the first level at which all of `texts` are the same."""
    return next(index for index, (_, reduce) in enumerate(LEVELS)
                if len({tuple(reduce(text.splitlines())) for text in texts}) == 1)


def first_difference(expected, actual, level):
    """The first line that differs at this level, as a sentence; empty where none does."""
    reduce = LEVELS[level][1]
    before, after = list(reduce(expected.splitlines())), list(reduce(actual.splitlines()))
    if before == after:
        return ""
    index = next((i for i, (one, other) in enumerate(zip(before, after)) if one != other),
                 min(len(before), len(after)))
    show = [repr(lines[index][:100]) if index < len(lines) else "nothing" for lines in (before, after)]
    return f"line {index + 1}: {show[1]} instead of {show[0]}"

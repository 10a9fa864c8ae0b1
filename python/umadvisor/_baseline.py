"""The file of --umadvisor-baseline: which findings each test may have."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter

import pytest

from ._findings import Finding
from ._native import words_of

SCHEMA = "umadvisor-pytest-1"
ELSEWHERE = ""  # what fixtures and imports do is in no test

Identity = tuple[str, str, str]
Known = dict[str, list[dict[str, str]]]  # test to findings


def identity(finding: Finding) -> Identity:
    """As `umadvisor check` compares them: line numbers shift."""
    line = finding.line
    return finding.rule, os.path.basename(line.file or line.module) if line else "", line.function if line else ""


def read(path: str, may_be_missing: bool) -> Known:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except FileNotFoundError:
        if may_be_missing:
            return {}
        raise pytest.UsageError(f"there is no {path}; --umadvisor-update-baseline makes it") from None
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"the baseline cannot be read: {words_of(error)}") from None
    try:
        found = json.loads(text)
        if found["schema"] != SCHEMA:
            raise ValueError
        for findings in found["tests"].values():
            if not all(isinstance(part, str) for each in findings for part in _known_identity(each)):
                raise ValueError
        return dict(found["tests"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise pytest.UsageError(f"{path} is no baseline of --umadvisor-update-baseline ({SCHEMA})") from None


def _known_identity(each: dict[str, str]) -> Identity:
    return each["rule"], each["file"], each["function"]


def update(path: str, known: Known, found: dict[str, list[Finding]]) -> None:
    """What did not run stays. The file is replaced as a whole, or not at all: OSError."""
    for test, findings in found.items():
        identities = Counter(map(identity, findings))
        if test == ELSEWHERE:  # nothing shows which of them belong to tests that did not run
            identities |= Counter(map(_known_identity, known.get(test, ())))
        rows = [dict(zip(("rule", "file", "function"), each)) for each in sorted(identities.elements())]
        known.pop(test, None)
        if rows:
            known[test] = rows
    path = os.path.realpath(path)  # a link stays one
    written = os.path.join(os.path.dirname(path), f".umadvisor-{os.urandom(8).hex()}")
    file = open(written, "x")
    try:
        with file:
            file.write(json.dumps({"schema": SCHEMA, "tests": dict(sorted(known.items()))}, indent=1) + "\n")
        os.replace(written, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(written)
        raise


def split(known: Known, found: dict[str, list[Finding]]) -> tuple[list[tuple[str, Finding]], int]:
    """The findings that the baseline does not have for their test, and how many it has."""
    new: list[tuple[str, Finding]] = []
    old = 0
    for test, findings in found.items():
        left = Counter(map(_known_identity, known.get(test, ())))
        for finding in findings:
            if left[identity(finding)] > 0:
                left[identity(finding)] -= 1
                old += 1
            else:
                new.append((test, finding))
    return new, old

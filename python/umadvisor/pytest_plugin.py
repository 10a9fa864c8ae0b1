"""pytest --umadvisor: the tests run under umadvisor, each as a range of its own, and its findings come at the end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest

from ._findings import Finding, Report, report
from ._native import UmadvisorError, is_recorded, program
from ._ranges import step

LEVELS = ("low", "medium", "high")
SCHEMA = "umadvisor-pytest-1"
RAN = "UMADVISOR_PYTEST_RAN"  # names a file to which the recorded process appends each test that it has run
FIRST = "first "  # before the test in which the process used CUDA for the first time
ELSEWHERE = ""  # what fixtures and imports do is in no test

Known = dict[str, list[dict[str, str]]]  # test to findings


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("umadvisor", "where CUDA code loses time moving memory")
    group.addoption("--umadvisor", action="store_true", help="run the tests under umadvisor, and say what it finds")
    group.addoption("--umadvisor-fail-on", choices=LEVELS, metavar="LEVEL",
                    help="with --umadvisor: fail where a finding is left of this confidence (low, medium, high) or a higher one")
    group.addoption("--umadvisor-baseline", metavar="FILE",
                    help="with --umadvisor: fail only for findings of a test that FILE does not have for it (medium and higher ones, "
                    "if --umadvisor-fail-on does not say another level)")
    group.addoption("--umadvisor-update-baseline", action="store_true",
                    help="write the findings of the tests that ran into the file of --umadvisor-baseline, and do not fail for them")
    group.addoption("--umadvisor-trace", metavar="FILE", help="with --umadvisor: keep the trace in FILE")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: Any) -> Optional[int]:
    """Runs pytest itself anew under umadvisor: a process is recorded from its start on, or not at all."""
    if not config.getoption("--umadvisor") or is_recorded():
        return None
    baseline, update = config.getoption("--umadvisor-baseline"), config.getoption("--umadvisor-update-baseline")
    if update and not baseline:
        raise pytest.UsageError("--umadvisor-update-baseline needs --umadvisor-baseline FILE")
    known = _read_baseline(baseline, update) if baseline else None
    with tempfile.TemporaryDirectory() as folder:
        trace = config.getoption("--umadvisor-trace") or str(Path(folder, "tests.umtrace"))
        Path(trace).unlink(missing_ok=True)
        ran = Path(folder, "ran")
        command = [program(), "run", "-q", "-f", "-o", trace, "--", sys.executable, "-m", "pytest", *config.invocation_params.args]
        status = subprocess.run(command, env={**os.environ, "UMADVISOR_PROGRAM": program(), RAN: str(ran)}).returncode
        fail_on = config.getoption("--umadvisor-fail-on")
        tests = ran.read_text().splitlines() if ran.exists() else []
        try:
            if known is None:
                return _judge(trace, status, fail_on, tests)
            found = _findings_of_tests(trace, tests)
            if update:
                return _update(baseline, known, found, status)
            return _compare(known, found, status, fail_on or "medium")
        except UmadvisorError as error:
            print(error)
            return status or 1


def _judge(trace: str, status: int, fail_on: Optional[str], tests: list[str]) -> int:
    if not Path(trace).exists():
        if tests:
            print("umadvisor: no test used CUDA")
        return status
    found = _all(report(trace))
    refused = [each for each in found if fail_on and _counts(each, fail_on)]
    for finding in found:
        print(f"umadvisor: {'FAILED ' if finding in refused else ''}{finding} ({finding.confidence}; {finding.line})")
    if not found:
        print("umadvisor: no findings")
    return 1 if refused and status == 0 else status


def _all(found: Report) -> tuple[Finding, ...]:
    return found.findings + found.unpriced


def _counts(finding: Finding, level: str) -> bool:
    return LEVELS.index(finding.confidence) >= LEVELS.index(level)


def _identity(finding: Finding) -> tuple[str, str, str]:
    """As `umadvisor check` compares them: line numbers shift."""
    line = finding.line
    return finding.rule, os.path.basename(line.file or line.module) if line else "", line.function if line else ""


def _findings_of_tests(trace: str, ran: list[str]) -> dict[str, list[Finding]]:
    """The findings inside of each test, and those that are in none."""
    found: dict[str, list[Finding]] = {test.removeprefix(FIRST): [] for test in ran}
    whole = _all(report(trace)) if Path(trace).exists() else ()
    if whole:
        for test in found:
            found[test] = _inside(trace, test)
    inside = {_identity(finding) for findings in found.values() for finding in findings}
    # Nothing is recorded before the first use of CUDA, so the range of that test is not there.
    first = next((test.removeprefix(FIRST) for test in ran if test.startswith(FIRST)), ELSEWHERE)
    found.setdefault(ELSEWHERE, [])
    found[first] = found[first] + [finding for finding in whole if _identity(finding) not in inside]
    return found


def _inside(trace: str, test: str) -> list[Finding]:
    # What means something in a glob stands for itself in brackets, but the backslash.
    name = re.sub(r"([\[*?])", r"[\1]", test.replace("\\", "\\\\"))
    try:
        return list(_all(report(trace, "--range", name)))
    except UmadvisorError as error:
        if "no range" in str(error):  # the test used no CUDA yet
            return []
        raise


def _read_baseline(path: str, may_be_missing: bool) -> Known:
    try:
        text = Path(path).read_text()
    except FileNotFoundError:
        if may_be_missing:
            return {}
        raise pytest.UsageError(f"there is no {path}; --umadvisor-update-baseline makes it") from None
    except OSError as error:
        raise pytest.UsageError(f"the baseline cannot be read: {error}") from None
    try:
        found = json.loads(text)
        if found["schema"] != SCHEMA:
            raise ValueError
        for findings in found["tests"].values():
            for each in findings:
                _known_identity(each)
        return dict(found["tests"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise pytest.UsageError(f"{path} is no baseline of --umadvisor-update-baseline ({SCHEMA})") from None


def _known_identity(each: dict[str, str]) -> tuple[str, str, str]:
    return each["rule"], each["file"], each["function"]


def _update(path: str, known: Known, found: dict[str, list[Finding]], status: int) -> int:
    for test, findings in found.items():
        rows = [dict(zip(("rule", "file", "function"), each)) for each in sorted(map(_identity, findings))]
        known.pop(test, None)
        if rows:
            known[test] = rows
    Path(path).write_text(json.dumps({"schema": SCHEMA, "tests": dict(sorted(known.items()))}, indent=1) + "\n")
    print(f"umadvisor: {path} has the findings of {len(found) - 1} tests")
    return status


def _compare(known: Known, found: dict[str, list[Finding]], status: int, level: str) -> int:
    new, old = 0, 0
    for test, findings in found.items():
        left = Counter(map(_known_identity, known.get(test, ())))
        for finding in findings:
            identity = _identity(finding)
            if left[identity] > 0:
                left[identity] -= 1
                old += 1
                continue
            counts = _counts(finding, level)
            new += counts
            print(f"umadvisor: {'FAILED ' if counts else ''}{test or 'outside of tests'}: {finding} "
                  f"({finding.confidence}; {finding.line})")
    print(f"umadvisor: {new} new findings, {old} that the baseline has")
    return 1 if new and status == 0 else status


def _uses_cuda() -> bool:
    return os.path.exists(os.environ.get("UMADVISOR_OUTPUT", ""))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    if not item.config.getoption("--umadvisor"):
        yield
        return
    used = _uses_cuda()
    with step(item.nodeid):
        yield
    if RAN in os.environ:
        with open(os.environ[RAN], "a") as ran:
            ran.write((FIRST if _uses_cuda() and not used else "") + item.nodeid + "\n")

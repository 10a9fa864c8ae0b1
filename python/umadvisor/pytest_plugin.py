"""pytest --umadvisor: the tests run under umadvisor, each as a range of its own, and its findings come at the end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from typing import Any, Iterator, Optional

import pytest

from . import _baseline
from ._baseline import ELSEWHERE
from ._findings import Finding, Report, report
from ._native import UmadvisorError, is_recorded, program, show, words_of
from ._ranges import step

LEVELS = ("low", "medium", "high")
RAN = "UMADVISOR_PYTEST_RAN"  # names a file to which the recorded process appends each test that it has run
TRACE_BEGINS = b"UMTRACE\n"
LONGEST_NAME = 1000  # of a range; the recorder cuts those of 16 KiB

# As they are before a test changes its environment.
_ran_file, _trace_file = os.environ.get(RAN, ""), os.environ.get("UMADVISOR_OUTPUT", "")

Found = dict[str, list[Finding]]  # test to findings


def pytest_addoption(parser: Any) -> None:
    try:
        group = parser.getgroup("umadvisor", "where CUDA code loses time moving memory")
        group.addoption("--umadvisor", action="store_true", help="run the tests under umadvisor, and say what it finds")
        group.addoption("--umadvisor-fail-on", choices=LEVELS, metavar="LEVEL",
                        help="with --umadvisor: fail where a finding is left of this confidence (low, medium, high) or a higher one")
        group.addoption("--umadvisor-baseline", metavar="FILE",
                        help="with --umadvisor: fail only for findings of a test that FILE does not have for it (medium and higher ones, "
                        "if --umadvisor-fail-on does not say another level)")
        group.addoption("--umadvisor-update-baseline", action="store_true",
                        help="write the findings of the tests that ran into the file of --umadvisor-baseline, and do not fail for them")
        group.addoption("--umadvisor-trace", metavar="FILE",
                        help="with --umadvisor: keep the trace in FILE, in the place of another trace")
    except Exception:  # the options are another plugin's: the suite runs without ours
        pass


def _say(text: str) -> None:
    show(f"umadvisor: {_line(text)}", sys.stdout)


def _line(text: str) -> str:
    """Names of files and tests may have line feeds and other characters that are more than a character."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: Any) -> Optional[int]:
    """Runs pytest itself anew under umadvisor: a process is recorded from its start on, or not at all."""
    try:
        if not config.getoption("--umadvisor", False) or is_recorded():
            return None
    except Exception:
        return None
    if _ran_file:  # or it would start itself over and over
        _say("the recorder was not loaded into pytest, so nothing is recorded")
        return None
    try:
        return _run(config)
    except pytest.UsageError:
        raise
    except Exception as error:
        raise pytest.UsageError(f"--umadvisor: {_line(words_of(error))}") from None


def _run(config: Any) -> int:
    baseline, update = config.getoption("--umadvisor-baseline"), config.getoption("--umadvisor-update-baseline")
    if update and not baseline:
        raise pytest.UsageError("--umadvisor-update-baseline needs --umadvisor-baseline FILE")
    known = _baseline.read(baseline, update) if baseline else None
    kept = _file_to_keep(config.getoption("--umadvisor-trace"))
    # Beside the file that is asked for, so that what is there stays until there is another trace.
    folder = tempfile.mkdtemp(prefix=".umadvisor-", dir=os.path.dirname(kept) if kept else None)
    try:
        trace, ran = os.path.join(folder, "traces", os.path.basename(kept) if kept else "tests.umtrace"), os.path.join(folder, "ran")
        os.mkdir(os.path.dirname(trace))
        status = _wait([program(), "run", "-q", "-o", trace, "--", sys.executable, "-m", "pytest", *config.invocation_params.args],
                       {**os.environ, "UMADVISOR_PROGRAM": program(), RAN: ran})
        try:
            fail_on = config.getoption("--umadvisor-fail-on")
            if known is None:
                status = _judge(trace, status, fail_on, _tests(ran))
            elif update:
                found = _findings_of_tests(trace, _tests(ran))
                _baseline.update(baseline, known, found)
                _say(f"{baseline} has the findings of {len(found) - 1} tests")
            else:
                status = _compare(known, _findings_of_tests(trace, _tests(ran)), status, fail_on or "medium")
        except Exception as error:
            _say(words_of(error).removeprefix("umadvisor: "))
            status = status or 1
        if kept and _tests(ran):
            _keep(os.path.dirname(trace), os.path.dirname(kept))
        return status
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(command: list[Any], environment: dict[str, str]) -> int:
    """Its exit status. Meanwhile ^C is for the tests, and other requests to end go to them, so that what they say comes last."""
    children: list[Any] = []
    early: list[int] = []  # came before there was a child

    def pass_on(number: int, frame: object) -> None:
        if not children:
            early.append(number)
        elif number != signal.SIGINT:  # the terminal sends it to them, too
            children[0].send_signal(number)

    before = {}
    wanted: dict[int, Any] = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), pass_on)
    with contextlib.suppress(ValueError):  # another thread than the main one sets none
        for number, handler in wanted.items():
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
        if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:  # exit statuses would be lost (wait(2))
            before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        children.append(subprocess.Popen(command, env=environment))
        for number in early:
            children[0].send_signal(number)
        status = int(children[0].wait())
        return status if status >= 0 else 128 - status  # as in a shell
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _file_to_keep(option: Optional[str]) -> Optional[str]:
    """Its whole path. UsageError where no trace can be written there."""
    if option is None:
        return None
    path = os.path.abspath(option)
    if not option:
        raise pytest.UsageError("--umadvisor-trace: the name of a file is missing")
    if not os.path.isdir(os.path.dirname(path)):
        raise pytest.UsageError(f"--umadvisor-trace: there is no folder {_line(os.path.dirname(path))}")
    if not _may_replace(path):
        raise pytest.UsageError(f"--umadvisor-trace: {_line(path)} exists and is no trace; name another file")
    return path


def _may_replace(path: str) -> bool:
    """Whether nothing is there, or a trace: its first bytes say so (trace/FORMAT.md). A file without any loses nothing."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(TRACE_BEGINS)) in (TRACE_BEGINS, b"")
    except FileNotFoundError:
        return True


def _keep(traces: str, folder: str) -> None:
    """The trace, and those of further processes."""
    for name in sorted(os.listdir(traces)):
        try:
            if not _may_replace(os.path.join(folder, name)):
                raise FileExistsError("a file of that name exists and is no trace")
            os.replace(os.path.join(traces, name), os.path.join(folder, name))
        except OSError as error:
            _say(f"the trace {name} is not kept: {words_of(error)}")


def _tests(path: str) -> list[tuple[str, bool]]:
    """Each that has run, and whether the process used CUDA for the first time in it."""
    found = []
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        for line in file.read().split(b"\n"):
            with contextlib.suppress(ValueError, KeyError, TypeError):  # an end cut it
                each = json.loads(line)
                found.append((str(each["test"]), bool(each["first"])))
    return found


def _judge(trace: str, status: int, fail_on: Optional[str], tests: list[tuple[str, bool]]) -> int:
    if not os.path.exists(trace):
        if tests:
            _say("no test used CUDA")
        return status
    found = _all(report(trace))
    refused = [each for each in found if fail_on and _counts(each, fail_on)]
    for finding in found:
        _say(f"{'FAILED ' if finding in refused else ''}{finding} ({finding.confidence}; {finding.line})")
    if not found:
        _say("no findings")
    return 1 if refused and status == 0 else status


def _all(found: Report) -> tuple[Finding, ...]:
    return found.findings + found.unpriced


def _counts(finding: Finding, level: str) -> bool:
    return LEVELS.index(finding.confidence) >= LEVELS.index(level)


def _findings_of_tests(trace: str, ran: list[tuple[str, bool]]) -> Found:
    """The findings inside of each test, and those that are in none."""
    found: Found = {test: [] for test, _ in ran}
    whole = _all(report(trace)) if os.path.exists(trace) else ()
    if whole:
        for test in found:
            found[test] = _inside(trace, test)
    inside = {_baseline.identity(finding) for findings in found.values() for finding in findings}
    # Nothing is recorded before the first use of CUDA, so the range of that test is not there.
    first = next((test for test, is_first in ran if is_first), ELSEWHERE)
    found.setdefault(ELSEWHERE, [])
    found[first] = found[first] + [finding for finding in whole if _baseline.identity(finding) not in inside]
    return found


def _range_name(test: str) -> str:
    """The test's own name, where it is one line of characters that can be shown; else a number sets it apart from others."""
    shown = _line(test)
    if shown == test and len(test) <= LONGEST_NAME:
        return test
    number = hashlib.blake2b(test.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{shown[:LONGEST_NAME]} {number}"


def _inside(trace: str, test: str) -> list[Finding]:
    # What means something in a glob stands for itself in brackets, but the backslash.
    name = re.sub(r"([\[*?])", r"[\1]", _range_name(test).replace("\\", "\\\\"))
    try:
        return list(_all(report(trace, "--range=" + os.fsdecode(name.encode()))))  # UTF-8 in every locale
    except UmadvisorError as error:
        if re.search(": (no range is called |has no ranges;)", str(error)):  # the test used no CUDA yet
            return []
        raise


def _compare(known: _baseline.Known, found: Found, status: int, level: str) -> int:
    new, old = _baseline.split(known, found)
    refused = 0
    for test, finding in new:
        counts = _counts(finding, level)
        refused += counts
        _say(f"{'FAILED ' if counts else ''}{test or 'outside of tests'}: {finding} ({finding.confidence}; {finding.line})")
    _say(f"{refused} new findings, {old} that the baseline has")
    return 1 if refused and status == 0 else status


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    part: Any = contextlib.nullcontext()
    asked = used = False
    try:
        if item.config.getoption("--umadvisor", False):
            used = os.path.exists(_trace_file)
            part = step(_range_name(item.nodeid))
            asked = True
    except Exception:  # the test runs, if without its range
        pass
    with part:
        yield
    try:
        if asked and _ran_file:
            line = json.dumps({"test": item.nodeid, "first": not used and os.path.exists(_trace_file)}) + "\n"
            with open(_ran_file, "ab", buffering=0) as ran:
                ran.write(line.encode())
    except Exception:  # the test has passed or failed by itself
        pass

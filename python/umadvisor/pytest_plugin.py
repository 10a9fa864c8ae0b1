"""pytest --umadvisor: the tests run under umadvisor, each as a range of its own, and its findings come at the end."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest

from ._findings import report
from ._native import UmadvisorError, is_recorded, program
from ._ranges import step

LEVELS = ("low", "medium", "high")


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("umadvisor", "where CUDA code loses time moving memory")
    group.addoption("--umadvisor", action="store_true", help="run the tests under umadvisor, and say what it finds")
    group.addoption("--umadvisor-fail-on", choices=LEVELS, metavar="LEVEL",
                    help="with --umadvisor: fail where a finding is left of this confidence (low, medium, high) or a higher one")
    group.addoption("--umadvisor-trace", metavar="FILE", help="with --umadvisor: keep the trace in FILE")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: Any) -> Optional[int]:
    """Runs pytest itself anew under umadvisor: a process is recorded from its start on, or not at all."""
    if not config.getoption("--umadvisor") or is_recorded():
        return None
    with tempfile.TemporaryDirectory() as folder:
        trace = config.getoption("--umadvisor-trace") or str(Path(folder, "tests.umtrace"))
        command = [program(), "run", "-q", "-f", "-o", trace, "--", sys.executable, "-m", "pytest", *config.invocation_params.args]
        status = subprocess.run(command, env={**os.environ, "UMADVISOR_PROGRAM": program()}).returncode
        return _judge(trace, status, config.getoption("--umadvisor-fail-on"))


def _judge(trace: str, status: int, fail_on: Optional[str]) -> int:
    if not Path(trace).exists():
        print("umadvisor: no test used CUDA")
        return status
    try:
        found = report(trace)
    except UmadvisorError as error:
        print(error)
        return status or 1
    refused = [each for each in found.findings if fail_on and LEVELS.index(each.confidence) >= LEVELS.index(fail_on)]
    for finding in found.findings:
        print(f"umadvisor: {'FAILED ' if finding in refused else ''}{finding} ({finding.confidence}; {finding.line})")
    if not found.findings:
        print("umadvisor: no findings")
    return 1 if refused and status == 0 else status


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    if item.config.getoption("--umadvisor"):
        with step(item.nodeid):
            yield
    else:
        yield

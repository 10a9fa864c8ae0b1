"""`%%umadvisor` for notebooks."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from ._native import program, show, words_of


def umadvisor(line: str, cell: str) -> None:
    """Runs the cell as a program of its own under `umadvisor run OPTIONS` and prints the report on it. It sees nothing of
    the notebook: a process is recorded from its start on, or not at all."""
    try:
        try:
            _run(line, cell)
        except Exception as error:
            show(f"umadvisor: the cell was not run: {words_of(error)}", sys.stdout)
    except Exception:  # there is no room on the stack to say it
        pass


def _run(line: str, cell: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        script, trace = Path(folder, "cell.py"), Path(folder, "cell.umtrace")
        script.write_text(cell, encoding="utf-8", errors="backslashreplace")
        for command in ([program(), "run", "-q", "-o", str(trace), *shlex.split(f"{line}"), "--", sys.executable, str(script)],
                        [program(), "report", str(trace)]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.stdout:
                show(done.stdout.decode("utf-8", "backslashreplace").removesuffix("\n"), sys.stdout)
            if done.returncode != 0:
                break


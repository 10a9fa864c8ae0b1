"""`%%umadvisor` for notebooks."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ._native import program


def umadvisor(line: str, cell: str) -> None:
    """Runs the cell as a program of its own under `umadvisor run OPTIONS` and prints the report on it. It sees nothing of
    the notebook: a process is recorded from its start on, or not at all."""
    with tempfile.TemporaryDirectory() as folder:
        script, trace = Path(folder, "cell.py"), Path(folder, "cell.umtrace")
        script.write_text(cell)
        for command in ([program(), "run", "-q", "-o", str(trace), *shlex.split(line), "--", sys.executable, str(script)],
                        [program(), "report", str(trace)]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            print(done.stdout, end="")
            if done.returncode != 0:
                break


def load(shell: Any) -> None:
    shell.register_magic_function(umadvisor, "cell", "umadvisor")

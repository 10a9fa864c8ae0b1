"""Running one program with a time limit, so that a program that hangs costs its own case only."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass

DEFAULT_TIMEOUT = 120  # seconds


@dataclass
class Outcome:
    status: int      # exit status; 128 + signal; 124 when the time limit ended it
    stdout: str
    stderr: str
    seconds: float

    def explain(self):
        """One line for a table: the status and the last thing said on stderr."""
        lines = self.stderr.strip().splitlines()
        said = f": {lines[-1][:160]}" if lines else ""
        return ("time limit" if self.status == 124 else f"exit status {self.status}") + said


def run(command, environment, timeout=DEFAULT_TIMEOUT, folder=None):
    """Runs `command` in a process group of its own and ends the whole group at the limit."""
    started = time.monotonic()
    try:
        child = subprocess.Popen([str(word) for word in command], env=environment or None, cwd=folder, text=True,
                                 errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        return Outcome(127, "", str(error), 0.0)
    try:
        out, err = child.communicate(timeout=timeout)
        status = child.returncode if child.returncode >= 0 else 128 - child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        status = 124
    return Outcome(status, out, err, time.monotonic() - started)

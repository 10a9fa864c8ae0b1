"""The CUDA compiler of this machine."""

import os
import re
import shutil
from pathlib import Path

from .process import run

BUILD_LIMIT = 240  # seconds for one program


class Nvcc:
    """nvcc and the toolkit it lies in."""

    def __init__(self, path):
        self.path = path
        self.toolkit = Path(path).resolve().parents[1]

    @staticmethod
    def find():
        path = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
        return Nvcc(path) if path else None

    def compile(self, arguments, target):
        """Compiles for the card that is here. Returns why it failed; empty when it did not."""
        libraries = self.toolkit / ("lib64" if (self.toolkit / "lib64").is_dir() else "lib")
        command = [self.path, "-std=c++17", "-arch=native", "-O2", "-lineinfo", "-w", "-o", target, *arguments,
                   f"-L{libraries}", f"-L{libraries / 'stubs'}", f"-Xlinker=-rpath={libraries}"]
        outcome = run(command, dict(os.environ), BUILD_LIMIT)
        return "" if outcome.status == 0 else _first_error(outcome)


def _first_error(outcome):
    found = re.search(r"error: .*|cannot find .*", outcome.stderr + outcome.stdout)
    return found.group(0)[:160] if found else outcome.explain()

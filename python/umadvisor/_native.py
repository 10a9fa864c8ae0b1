"""The programs that the package carries, and whether this process is recorded."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from pathlib import Path
from typing import Sequence

NATIVE = Path(__file__).resolve().parent / "native"


class UmadvisorError(RuntimeError):
    """The words of the umadvisor program when it failed."""


def program() -> str:
    """Path of the umadvisor program."""
    return os.environ.get("UMADVISOR_PROGRAM") or str(NATIVE / "bin" / "umadvisor")


@functools.lru_cache(maxsize=None)
def is_recorded() -> bool:
    """Whether umadvisor records this process, as it does below `umadvisor run`."""
    try:
        maps = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return False
    return any(line.endswith("/libumadvisor.so") for line in maps.splitlines())


def ensure_recorded(*options: str) -> None:
    """Starts this program anew under `umadvisor run OPTIONS` where it is not recorded; nothing where it is.

    Call it first: what the program has done by then is done again."""
    if not is_recorded():
        command = [sys.executable, *sys.orig_argv[1:]] if hasattr(sys, "orig_argv") else [sys.executable, *sys.argv]
        os.execv(program(), [program(), "run", *options, "--", *command])


def with_interpreter(arguments: Sequence[str]) -> list[str]:
    """`run [OPTIONS] train.py ...` with this interpreter before the script."""
    found = list(arguments)
    for at, argument in enumerate(found if found[:1] == ["run"] else []):
        if at == 0 or argument.startswith("-"):
            continue
        if shutil.which(argument):
            break  # the program
        if argument.endswith(".py") and os.path.isfile(argument):
            before = found[:at] if "--" in found[:at] else [*found[:at], "--"]
            return [*before, sys.executable, *found[at:]]
        if not found[at - 1].startswith("-"):
            break  # no value of an option: what should be the program
    return found

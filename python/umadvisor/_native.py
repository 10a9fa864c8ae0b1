"""The programs that the package carries, and whether this process is recorded."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Sequence

NATIVE = Path(__file__).resolve().parent / "native"
# Stands in the environment of a program that ensure_recorded() has started. It is no setting of the recorder (UMADVISOR_...).
ANEW = "_UMADVISOR_STARTED_ANEW"

_warned: set[str] = set()


class UmadvisorError(RuntimeError):
    """The words of the umadvisor program when it failed."""


def program() -> str:
    """Path of the umadvisor program."""
    return os.environ.get("UMADVISOR_PROGRAM") or str(NATIVE / "bin" / "umadvisor")


def show(text: str, stream: Any) -> None:
    """Writes a line to a stream that may be missing, closed, or of an encoding that lacks some of the characters."""
    try:
        encoding = getattr(stream, "encoding", None) or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except Exception:
        pass


def warn(text: str, stacklevel: int) -> None:
    """Says it once a process. Where warnings are errors it is a plain line: the program did not ask for ours."""
    if text in _warned:
        return
    _warned.add(text)
    try:
        warnings.warn(text, stacklevel=stacklevel + 1)
    except Exception:
        show(f"umadvisor: {text}", sys.stderr)


@functools.lru_cache(maxsize=None)
def find_shim() -> bool:
    """Whether the recorder is loaded. An exception, such as one at the end of the stack, leaves the answer open."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            mapped = maps.read()
    except OSError:
        return False
    # The kernel writes line feeds of a name as \012, and " (deleted)" behind a file that an update replaced (proc(5)).
    return b"/libumadvisor.so\n" in mapped or b"/libumadvisor.so (deleted)\n" in mapped


def is_recorded() -> bool:
    """Whether umadvisor records this process, as it does below `umadvisor run`."""
    try:
        return find_shim()
    except Exception:
        return False


def ensure_recorded(*options: str) -> None:
    """Starts this program anew under `umadvisor run OPTIONS` where it is not recorded; nothing where it is.

    Call it first: what the program has done by then is done again. Where it cannot be started so, it goes on as it is,
    with one warning."""
    try:
        trouble = _start_anew(options)
        if trouble:
            warn(f"this process is not recorded: {trouble}", stacklevel=2)
    except Exception:
        pass


def _start_anew(options: Sequence[str]) -> str:
    """Returns only where nothing was started: why, or nothing."""
    if find_shim():
        return ""
    if ANEW in os.environ:  # or it would start itself over and over
        return "it was started under umadvisor run, but the recorder was not loaded into it"
    try:
        arguments = sys.orig_argv[1:] if hasattr(sys, "orig_argv") else sys.argv
        run = [program(), "run", *options, "--"]
        # Behind exec there is no way back, so the options are tried on a program that says that it ran: --help runs none.
        tried = subprocess.run([*run, "/bin/sh", "-c", "echo ran"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        if tried.stdout == b"ran\n":
            os.execve(run[0], [*run, sys.executable, *arguments], {**os.environ, ANEW: "1"})
        if tried.returncode == 0:
            return "umadvisor run does not start a program with these options"
        return _last_line(tried.stderr) or f"umadvisor run ended with status {tried.returncode}"
    except Exception as error:
        return words_of(error)


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "backslashreplace").strip().split("\n")
    return lines[-1].removeprefix("umadvisor: ")


def words_of(error: Exception) -> str:
    """An exception as a line: its text may be of an object that cannot be shown."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


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

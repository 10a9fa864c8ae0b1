"""Parts of a program that is recorded. Nothing here raises an exception into the program, with any argument."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import types
from typing import Any, Callable, Optional

from ._native import NATIVE, find_shim, warn

Functions = list[Callable[..., Any]]

_lock = threading.RLock()  # a signal handler may begin a part while the program begins one
_recording = 0  # records that are open, of any thread


class _Open(threading.local):
    """The parts that this thread is in, the innermost first: (what its end has to undo, the parts around it)."""

    parts: Any = None


_open = _Open()


def _renew_lock() -> None:
    """Another thread may have held it when the process was forked."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


@functools.lru_cache(maxsize=None)
def _push_and_pop() -> Optional[Functions]:
    path = os.environ.get("UMADVISOR_RANGES") or str(NATIVE / "lib" / "umadvisor" / "libumadvisor_ranges.so")
    try:
        ranges = ctypes.CDLL(path)
        return [ranges.umadvisor_push, ranges.umadvisor_pop]
    except (OSError, AttributeError):  # it is another library
        return None


@functools.lru_cache(maxsize=None)
def _captured() -> Optional[ctypes.CDLL]:
    """The driver, where the run records only what the program asks for (`umadvisor run -c cudaProfilerApi`)."""
    if os.environ.get("UMADVISOR_CAPTURE_RANGE") != "1" or not find_shim():
        return None
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:  # so the program does not use it, either
        return None
    driver.cuInit(0)  # before it the recorder has not begun, and could not be resumed
    return driver


def _bytes(name: object) -> bytes:
    """UTF-8 without zero bytes, which would end the name. What has no UTF-8, such as the surrogates by which Python shows
    other bytes in names of files, stands as Python writes it."""
    try:
        text = os.fsdecode(name) if isinstance(name, (bytes, os.PathLike)) else str(name)
    except Exception:
        text = type(name).__name__
    return str.encode(text, "utf-8", "backslashreplace").replace(b"\0", b"\\x00")


def _push(name: object, undo: Functions) -> None:
    functions = _push_and_pop()
    if functions is not None:
        push, pop = functions
        push(_bytes(name))
        undo.append(pop)


def _start_recording(undo: Functions) -> None:
    global _recording
    driver = _captured()
    with _lock:
        if driver is not None and _recording == 0:
            driver.cuProfilerStart()
        _recording += 1
    undo.append(_stop_recording)


def _stop_recording() -> None:
    global _recording
    driver = _captured()
    with _lock:
        _recording -= 1
        if driver is not None and _recording == 0:
            driver.cuProfilerStop()


class _Part(contextlib.ContextDecorator):
    def __new__(cls, name: object = None) -> Any:
        if type(name) is types.FunctionType:  # @step without parentheses
            return cls(name.__name__)(name)
        return object.__new__(cls)

    def __call__(self, function: Any) -> Any:
        try:
            return super().__call__(function)
        except Exception:  # it is an object that cannot be wrapped
            return function

    def _begin(self, undo: Functions) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        undo: Functions = []
        try:
            self._begin(undo)
        except Exception:
            pass
        _open.parts = (undo, _open.parts)
        return self

    def __exit__(self, *error: object) -> None:
        try:
            undo, _open.parts = _open.parts
            while undo:
                undo.pop()()
        except Exception:  # among them: another thread began this part
            pass


class step(_Part):
    """A step of the program, as context manager or decorator: an NVTX range, by which a report tells how long steps take
    and what the worst of them lost (`umadvisor report --range NAME`). Other tools that read NVTX see it, too."""

    def __init__(self, name: object = "step") -> None:
        self.name = name

    def _begin(self, undo: Functions) -> None:
        _push(self.name, undo)


class record(_Part):
    """A part of the program that is to be recorded, as context manager or decorator.

    Under `umadvisor run -c cudaProfilerApi` recording pauses outside of it; else all is recorded, and `--range NAME` chooses
    it in a report. Where the process is not recorded it does nothing, and warns once."""

    def __init__(self, name: object = "record") -> None:
        self.name = name

    def _begin(self, undo: Functions) -> None:
        if not find_shim():
            warn("this process is not recorded, so umadvisor.record() does nothing; start it by: umadvisor run python ...", stacklevel=3)
        _start_recording(undo)
        _push(self.name, undo)

"""Parts of a program that is recorded."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import warnings
from typing import Optional

from ._native import NATIVE, is_recorded

_lock = threading.Lock()
_recording = 0  # records that are open, of any thread


@functools.lru_cache(maxsize=None)
def _ranges() -> Optional[ctypes.CDLL]:
    path = os.environ.get("UMADVISOR_RANGES") or str(NATIVE / "lib" / "umadvisor" / "libumadvisor_ranges.so")
    try:
        return ctypes.CDLL(path)
    except OSError:
        return None


@functools.lru_cache(maxsize=None)
def _captured() -> Optional[ctypes.CDLL]:
    """The driver, where the run records only what the program asks for (`umadvisor run -c cudaProfilerApi`)."""
    if os.environ.get("UMADVISOR_CAPTURE_RANGE") != "1" or not is_recorded():
        return None
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:  # so the program does not use it, either
        return None
    driver.cuInit(0)  # before it the recorder has not begun, and could not be resumed
    return driver


@functools.lru_cache(maxsize=None)
def _warn() -> None:
    warnings.warn("this process is not recorded, so umadvisor.record() does nothing; start it by: umadvisor run python ...", stacklevel=3)


class step(contextlib.ContextDecorator):
    """A step of the program, as context manager or decorator: an NVTX range, by which a report tells how long steps take
    and what the worst of them lost (`umadvisor report --range NAME`). Other tools that read NVTX see it, too."""

    def __init__(self, name: str = "step") -> None:
        self.name = name

    def _recreate_cm(self) -> "step":
        return self

    def __enter__(self) -> "step":
        ranges = _ranges()
        if ranges is not None:
            ranges.umadvisor_push(self.name.encode())
        return self

    def __exit__(self, *error: object) -> None:
        ranges = _ranges()
        if ranges is not None:
            ranges.umadvisor_pop()


class record(contextlib.ContextDecorator):
    """A part of the program that is to be recorded, as context manager or decorator.

    Under `umadvisor run -c cudaProfilerApi` recording pauses outside of it; else all is recorded, and `--range NAME` chooses
    it in a report. Where the process is not recorded it does nothing, and warns once."""

    def __init__(self, name: str = "record") -> None:
        self._step = step(name)

    def __enter__(self) -> "record":
        global _recording
        if not is_recorded():
            _warn()
        driver = _captured()
        with _lock:
            _recording += 1
            if driver is not None and _recording == 1:
                driver.cuProfilerStart()
        self._step.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        global _recording
        self._step.__exit__()
        driver = _captured()
        with _lock:
            _recording -= 1
            if driver is not None and _recording == 0:
                driver.cuProfilerStop()

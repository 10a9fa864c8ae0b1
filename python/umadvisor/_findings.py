"""A report as Python objects."""

from __future__ import annotations

import html
import json
import os
import subprocess
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Sequence, Union

from ._native import UmadvisorError, program, words_of

_MOST_SHOWN = 10  # findings in a report's text


class MissingPackageError(UmadvisorError, ImportError):
    """A package that a function needs is not installed."""


# Made here: where the stack ends, there is no room for the call.
_NO_STACK = UmadvisorError("a report needs more of the stack than is left")


@dataclass(frozen=True)
class Line:
    """A line of the program."""

    text: str
    function: str
    file: str
    line: int
    module: str
    source: str

    def __str__(self) -> str:
        try:
            return f"{self.text}"
        except Exception:
            return "?"


@dataclass(frozen=True)
class Place:
    """A line that matters to a finding, and why."""

    text: str
    line: Optional[Line]


@dataclass(frozen=True)
class Finding:
    """A fault that costs time or memory, with its remedy. `raw` is the whole object of `umadvisor report --json`."""

    rule: str
    name: str
    title: str
    summary: str
    details: tuple[str, ...]
    advice: str
    line: Optional[Line]
    allocation: Optional[Place]
    places: tuple[Place, ...]
    saving_ns: float
    saving_bytes: int
    basis: str
    confidence: str
    raw: dict[str, Any] = field(hash=False, repr=False)

    def __str__(self) -> str:
        try:
            return f"{self.rule} {self.title}: {self.summary}"
        except Exception:
            return "?"


@dataclass(frozen=True, repr=False)
class Report:
    """The report on one trace. `raw` is the whole document of `umadvisor report --json`."""

    file: str
    duration_ns: int
    complete: bool
    findings: tuple[Finding, ...]
    unpriced: tuple[Finding, ...]  # what they save is not known on that machine
    raw: dict[str, Any] = field(hash=False)
    arguments: tuple[str, ...] = ()  # of `umadvisor report`: options, and the trace

    def __str__(self) -> str:
        try:
            return _text(self)
        except Exception:
            return "umadvisor report"

    __repr__ = __str__

    def _repr_html_(self) -> Optional[str]:
        """The page of `umadvisor report --html` for a notebook; None, so that the text is shown, where there is none."""
        try:
            return _page(self)
        except Exception:
            return None

    def to_pandas(self) -> Any:
        """The findings as a pandas DataFrame, a row for each. Where pandas is not installed, the error is an ImportError, too."""
        try:
            return _or_error(_table, self)
        except RecursionError:
            _NO_STACK.__traceback__ = None  # of the last time
            raise _NO_STACK from None


def _table(found: Report) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingPackageError(f"to_pandas() needs pandas: pip install pandas ({words_of(error)})") from error
    return pandas.DataFrame(
        [{"rule": f.rule, "name": f.name, "title": f.title, "line": f.line and f.line.text, "saving_ns": f.saving_ns,
          "saving_bytes": f.saving_bytes, "confidence": f.confidence, "advice": f.advice} for f in found.findings])


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def _text(found: Report) -> str:
    """What it is of, and a line for each of the findings that save most."""
    count = f"{len(found.findings)} finding{'' if len(found.findings) == 1 else 's'}"
    trouble = "" if found.complete else " · trace incomplete"
    lines = [f"{found.raw['process']['program']} · {_time(found.duration_ns)} · {count}{trouble}"]
    for each in found.findings[:_MOST_SHOWN]:
        saves = f" · saves {_time(each.saving_ns)}" if each.saving_ns > 0 else ""
        lines.append(f"  {each.rule} {each.title} · {each.line or 'no stack recorded'}{saves} · confidence {each.confidence}")
    if len(found.findings) > _MOST_SHOWN:
        lines.append(f"  and {len(found.findings) - _MOST_SHOWN} more")
    return "\n".join(lines)


def _page(found: Report) -> Optional[str]:
    if not found.arguments:
        return None
    done = subprocess.run([program(), "report", "--html", *found.arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, "LD_PRELOAD": ""})
    page = done.stdout.decode("utf-8", "backslashreplace")
    if not page.startswith("<!"):
        return None
    # A frame keeps the page's styles and scripts apart from the notebook's.
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 80vh; border: 0"></iframe>'


def _line(found: Optional[dict[str, Any]]) -> Optional[Line]:
    return found and Line(*(found[key] for key in ("text", "function", "file", "line", "module", "source")))


def _place(found: Optional[dict[str, Any]]) -> Optional[Place]:
    return found and Place(found["text"], _line(found["line"]))


def _finding(found: dict[str, Any]) -> Finding:
    return Finding(
        rule=found["rule"], name=found["name"], title=found["title"], summary=found["summary"], details=tuple(found["details"]),
        advice=found["advice"], line=_line(found["line"]), allocation=_place(found["allocation"]),
        places=tuple(filter(None, map(_place, found["places"]))), saving_ns=found["saving_ns"], saving_bytes=found["saving_bytes"],
        basis=found["basis"], confidence=found["confidence"], raw=found)


def report(path: Union[str, "os.PathLike[str]"], *options: str) -> Report:
    """The report on the trace at `path`; `options` are those of `umadvisor report`, such as "--range", "train_step".
    Raises UmadvisorError where there is none, for any reason, and no other exception."""
    try:
        return _or_error(_report, path, options)
    except RecursionError:
        _NO_STACK.__traceback__ = None  # of the last time
        raise _NO_STACK from None


def _or_error(function: Callable[..., Any], *arguments: object) -> Any:
    """What the function returns; its exceptions become the one that is documented."""
    try:
        return function(*arguments)
    except (UmadvisorError, RecursionError):
        raise
    except Exception as error:
        raise UmadvisorError(words_of(error)) from error


def _report(path: Union[str, "os.PathLike[str]"], options: Sequence[str]) -> Report:
    done = subprocess.run([program(), "report", "--json", *options, os.fspath(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "LD_PRELOAD": ""})
    if not done.stdout:
        raise UmadvisorError(done.stderr.decode("utf-8", "backslashreplace").strip() or f"umadvisor report ended with status {done.returncode}")
    try:
        found = json.loads(done.stdout)
        return Report(file=found["file"], duration_ns=found["process"]["duration_ns"], complete=found["completeness"]["complete"],
                      findings=tuple(map(_finding, found["findings"])), unpriced=tuple(map(_finding, found.get("unpriced", ()))), raw=found,
                      arguments=(*options, os.path.abspath(os.fsdecode(path))))
    except (ValueError, KeyError, TypeError) as error:
        raise UmadvisorError("umadvisor report wrote something else than a report as JSON") from error

#!/usr/bin/env python3
"""Calls everything public of the package with hostile values and writes what came out as JSON: how many calls, and each
that raised what it must not.

    hostile_calls.py RESULT

What is public is read from the package, so what is new is called, too: the names of __all__, what modules without an
underscore define, and what a notebook is given."""

import collections
import importlib
import inspect
import io
import json
import os
import pkgutil
import sys
from unittest import mock

import umadvisor

result_file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)  # the folder may go

# Reads for the user, or is a program of its own, or was asked for something impossible: the one error of each.
MAY_RAISE = {"umadvisor.report": "UmadvisorError", "umadvisor.Report.to_pandas": "UmadvisorError", "umadvisor.__main__.main": "SystemExit",
             "umadvisor.pytest_plugin.pytest_cmdline_main": "UsageError"}

raised, calls, found = [], 0, set()


class Raises:
    """Each use of it raises."""

    def __init__(self, error=RuntimeError):
        object.__setattr__(self, "error", error)

    def fail(self, *arguments):
        raise object.__getattribute__(self, "error")

    __str__ = __repr__ = __bytes__ = __bool__ = __len__ = __iter__ = __hash__ = __eq__ = __lt__ = __fspath__ = __getattr__ = fail
    __call__ = __int__ = __index__ = __format__ = __enter__ = __exit__ = __getitem__ = __contains__ = __setattr__ = fail
    __class__ = property(fail)


class RaisingPath(os.PathLike):
    def __fspath__(self):
        raise OSError("no path")


class HostileText(str):
    def __str__(self):
        raise ValueError
    encode = __add__ = __eq__ = __contains__ = startswith = __str__
    __hash__ = str.__hash__


class Answers:
    """To stand for what pytest and a notebook hand over: all that is asked of it is one hostile value."""

    def __init__(self, value):
        self.value = self.nodeid = value
        self.config = self.invocation_params = self
        self.args = [value]

    def getoption(self, *arguments):
        return self.value

    def __getattr__(self, name):
        return self.value


def closed_file():
    file = open(os.devnull)
    file.close()
    return file


endless = []
endless.append(endless)
VALUES = [os.fsdecode(b"bad\xff"), "\ud800", "a\0b", "a\nb", "a\u2028b\x0cc\r", "x" * 140_000, "", "-x", "--", "--help", "[*?\\", "\U0001f40d" * 5000,
          None, True, 0, -1, 1 << 64, 10 ** 5000, float("nan"), 1j, b"bad\xff", b"a\0b", bytearray(b"x"), memoryview(b"x"), [], {}, endless, ...,
          NotImplemented, object(), object, Raises(), RaisingPath(), HostileText("x"), closed_file(), io.StringIO(), (each for each in ""),
          lambda *arguments: None, Exception("\ud800"), Raises, os, "/", "/proc/self/mem", os.devnull]
ANSWERS = [Answers(value) for value in VALUES]


def functions():
    """(name, function or class) of all that is public."""
    for module in [umadvisor, *(each for info in pkgutil.iter_modules(umadvisor.__path__, "umadvisor.")
                                if (each := public_module(info.name)))]:
        for name in {*getattr(module, "__all__", ()), *vars(module)}:
            value = vars(module)[name]
            own = getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
            if callable(value) and (own or name in getattr(module, "__all__", ())) and not is_error(value):
                yield f"{module.__name__}.{name}", value
    shell = mock.Mock()
    umadvisor.load_ipython_extension(shell)
    yield "%%umadvisor", shell.register_magic_function.call_args[0][0]


def public_module(name):
    if not name.rpartition(".")[2].strip("_") or (name.rpartition(".")[2].startswith("_") and not name.endswith("__")):
        return None
    try:
        return importlib.import_module(name)
    except ImportError:  # of what has a plugin for a program that is not there
        return None


def is_error(value):
    return isinstance(value, type) and issubclass(value, BaseException)


def check(name, function, *arguments):
    """What it returns, where it raises nothing that it must not."""
    global calls
    calls += 1
    try:
        return function(*arguments)
    except BaseException as error:
        if MAY_RAISE.get(name) not in [each.__name__ for each in type(error).__mro__]:
            shown = [repr(each)[:60] if type(each) in (str, bytes, int) and each != VALUES[17] else type(each).__name__ for each in arguments]
            raised.append(f"{name}({', '.join(shown)}): {type(error).__name__}")
    return None


def argument_lists(name, function):
    """Each parameter is hostile alone, and all of them are."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    least = sum(each.default is each.empty and each.kind is not each.VAR_POSITIONAL for each in parameters)
    if least == 0:
        yield []
    handed_over = "pytest" in name or "ipython" in name
    for value in (VALUES + ANSWERS * handed_over) if parameters else ():
        for at in range(len(parameters)):
            yield [value if i == at else "x" for i in range(max(least, at + 1))]
        yield [value] * max(least, len(parameters))


def attack(name, function):
    found.add(name)
    for arguments in argument_lists(name, function):
        made = check(name, function, *arguments)
        if inspect.isgenerator(made):  # a hook around a test
            check(name, next, made)
            check(name, next, made, None)
        elif isinstance(function, type) and isinstance(made, function):
            attack_object(name, made)


class Passes(BaseException):
    pass


def inside(part):
    with part, part:
        raise Passes


def attack_object(name, made):
    for method in ("__str__", "_repr_html_"):
        check(f"{name}.{method}", vars(type(made))[method], made) if method in vars(type(made)) else None
    for method in (each for each in dir(type(made)) if not each.startswith("_") and inspect.isfunction(getattr(type(made), each))):
        check(f"{name}.{method}", getattr(made, method))
    if not hasattr(type(made), "__enter__"):
        return
    for value in VALUES:
        check(f"{name}.__call__", made, value)
    try:
        check(name, inside, made)
    finally:
        if raised and raised[-1].endswith("Passes"):
            raised.pop()
        else:
            raised.append(f"{name} keeps the exception of what is in it")
    if check(name, made(lambda value: value + 1), 1) != 2 or check(name, type(made)(lambda value: value + 1), 1) != 2:
        raised.append(f"{name} changes what it decorates")


class Plain:
    """As much of the stack as a context manager that is written in Python takes."""

    def __new__(cls, *arguments):
        return object.__new__(cls)

    def __init__(self, *arguments):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def plain(*arguments):
    return None


def call_it(function, arguments):
    made = function(*arguments)
    if hasattr(type(made), "__enter__"):
        with made:
            pass


def deep(frames, function, arguments):
    return deep(frames - 1, function, arguments) if frames else call_it(function, arguments)


def on_top(function, *arguments):
    """The frame of check()."""
    return function(*arguments)


def attack_deep(name, function):
    """Where the stack ends: what a function of nothing can do there, ours can, too."""
    if isinstance(function, type) and not hasattr(function, "__enter__") or name.endswith(".main"):
        return  # of data alone, or a program of its own
    arguments = next(iter([each for each in argument_lists(name, function) if all(type(part) is str for part in each)]), [])
    for left in range(120):
        frames = sys.getrecursionlimit() - len(inspect.stack(0)) - left
        try:
            on_top(deep, frames, Plain if isinstance(function, type) else plain, arguments)
        except RecursionError:
            continue
        check(name, deep, frames, function, arguments)


def attack_interrupted():
    """^C is the user's: it passes."""
    def enter():
        umadvisor.step(Raises(KeyboardInterrupt)).__enter__()

    ranges = importlib.import_module("umadvisor._ranges")
    for function, arguments in ((umadvisor.report, ["x"]), (umadvisor.ensure_recorded, []), (enter, [])):
        try:
            with mock.patch("subprocess.run", side_effect=KeyboardInterrupt), mock.patch.object(umadvisor._native, "find_shim", lambda: False, create=True), \
                    mock.patch.object(ranges, "_push_and_pop", lambda: [plain, plain], create=True):
                function(*arguments)
            raised.append(f"{function.__name__} keeps KeyboardInterrupt")
        except KeyboardInterrupt:
            pass
        except BaseException as error:
            raised.append(f"{function.__name__} turns KeyboardInterrupt into {type(error).__name__}")


def main():
    argv = sys.argv
    for name, function in sorted(functions(), key=lambda each: each[0]):
        with mock.patch("os.execv", side_effect=OSError), mock.patch("os.execve", side_effect=OSError):
            with mock.patch("subprocess.run", plain):
                attack_deep(name, function)
            if name == "umadvisor.__main__.main":  # it takes what it is given from there
                for value in VALUES:
                    sys.argv = [value, "run", value]
                    check(name, function)
                sys.argv = argv
            attack(name, function)
    attack_interrupted()
    os.write(result_file, json.dumps({"calls": calls, "found": sorted(found), "raised": collections.Counter(raised)}).encode())


main()

"""The line tables of the standard library, and what the interpreter reads from them.

One line for each code object: format, first line, table in hexadecimal, then pairs of numbers: so many code units have
that line (0: none). The argument is how many modules to take; without it all of them.
"""
import ctypes
import sys
import sysconfig
from itertools import groupby
from pathlib import Path

line_of = ctypes.pythonapi.PyCode_Addr2Line
line_of.argtypes = [ctypes.py_object, ctypes.c_int]
FORMAT = {9: 1, 10: 2}.get(sys.version_info[1], 3)


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def describe(code):
    table = code.co_lnotab if FORMAT == 1 else code.co_linetable
    lines = [max(line_of(code, at), 0) for at in range(0, len(code.co_code), 2)]
    runs = [f"{len(list(run))} {line}" for line, run in groupby(lines)]
    print(FORMAT, code.co_firstlineno, table.hex() or "-", *runs)


files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
if len(sys.argv) > 1:
    files = files[:: max(1, len(files) // int(sys.argv[1]))]
for file in files:
    for each in codes(compile(file.read_bytes(), str(file), "exec")):
        describe(each)

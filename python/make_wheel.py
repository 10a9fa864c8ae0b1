#!/usr/bin/env python3
"""Makes the wheel of an unpacked package: the Python surface, and the program and libraries below native/.

    make_wheel.py VERSION PLATFORM PACKAGE RANGES FOLDER

PLATFORM is a tag such as manylinux_2_28_x86_64, RANGES the library of the same name. By hand, so that nothing needs to be
installed, and the same input gives the same bytes. Standard library only."""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

SOURCE = Path(__file__).parent / "umadvisor"
METADATA = """Metadata-Version: 2.1
Name: umadvisor
Version: {version}
Summary: Finds where CUDA programs lose time moving memory
License: Apache-2.0
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Framework :: Pytest
Description-Content-Type: text/markdown

Finds where CUDA programs lose time moving memory, on which line, and what to write instead.

    umadvisor run python train.py
    umadvisor report python.4242.umtrace
"""
WHEEL = """Wheel-Version: 1.0
Generator: umadvisor
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""
ENTRY_POINTS = """[console_scripts]
umadvisor = umadvisor.__main__:main

[pytest11]
umadvisor = umadvisor.pytest_plugin
"""


def contents(version, platform, package, ranges):
    """(name in the wheel, bytes, whether it can be executed) of every file but RECORD."""
    info = f"umadvisor-{version}.dist-info"
    for path in sorted(SOURCE.iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"umadvisor/{path.name}", path.read_bytes(), False
    yield "umadvisor/native/bin/umadvisor", (package / "bin" / "umadvisor").read_bytes(), True
    for path in [*sorted((package / "lib" / "umadvisor").iterdir()), ranges]:
        yield f"umadvisor/native/lib/umadvisor/{path.name}", path.read_bytes(), False
    documents = package / "share" / "doc" / "umadvisor"
    for path in sorted(documents.rglob("*")):
        if path.is_file():
            yield f"{info}/licenses/{path.relative_to(documents)}", path.read_bytes(), False
    yield f"{info}/METADATA", METADATA.format(version=version).encode(), False
    yield f"{info}/WHEEL", WHEEL.format(platform=platform).encode(), False
    yield f"{info}/entry_points.txt", ENTRY_POINTS.encode(), False


def main():
    version, platform, package, ranges, folder = sys.argv[1:]
    date = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    wheel = Path(folder) / f"umadvisor-{version}-py3-none-{platform}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def add(name, data, executable=False):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)

        for name, data, executable in contents(version, platform, Path(package), Path(ranges)):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
            add(name, data, executable)
        name = f"umadvisor-{version}.dist-info/RECORD"
        add(name, ("".join(record) + f"{name},,\n").encode())
    print(wheel)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes libraries to link against in place of glibc's own, with the symbols and versions that an older glibc has.

    stubs.py GLIBC FOLDER COMPILER [ARGUMENT...]

A program linked against them runs with GLIBC or newer, and one that uses anything newer does not link, but for what since.c
defines. Of each symbol of this system's glibc the newest version up to GLIBC counts: glibc keeps the old ones, but lets nobody
link against them. Needs readelf and ar."""

import re
import subprocess
import sys
from pathlib import Path

LIBRARIES = ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")
SYMBOL = re.compile(r"\s*\d+:\s+(\w+)\s+(\d+)\s+(FUNC|IFUNC|OBJECT)\s+(GLOBAL|WEAK)\s+DEFAULT\s+\d+\s+([^@\s]+)@@?GLIBC_([\d.]+)$")


def number(version):
    return tuple(map(int, version.split(".")))


def symbols(library, glibc):
    """Name to (version, type, binding, address, size) of what `library` has had since `glibc`."""
    found = {}
    listing = subprocess.run(["readelf", "--dyn-syms", "-W", library], check=True, capture_output=True, text=True).stdout
    for symbol in filter(None, map(SYMBOL.match, listing.splitlines())):
        address, size, kind, binding, name, version = symbol.groups()
        if number(glibc) >= number(version) >= number(found.get(name, ("0",))[0]):
            found[name] = (version, kind, binding, address, int(size))
    return found


def make_stub(compiler, folder, soname, found):
    versions, places = {}, {}
    for name, (version, kind, binding, address, size) in sorted(found.items()):
        versions.setdefault(version, []).append(name)
        places.setdefault((kind == "OBJECT", address), []).append((name, binding, size))
    assembly = []
    # Names of one object stay so, the weak ones weak: by that the linker gives a program's copy of it all of its names.
    for (data, _), names in places.items():
        assembly.append(".data" if data else ".text")
        for name, binding, size in names:
            assembly.append(f".{'globl' if binding == 'GLOBAL' else 'weak'} {name}; .type {name}, %{'object' if data else 'function'}; .size {name}, {size}; {name}:")
        assembly.append(f".skip {max(size for *_, size in names) or 1}")
    source, script = folder / f"{soname}.S", folder / f"{soname}.map"
    source.write_text("\n".join(assembly) + '\n.section .note.GNU-stack,"",%progbits\n')
    script.write_text("".join(f"GLIBC_{version} {{ {'; '.join(names)}; }};\n" for version, names in sorted(versions.items())))
    subprocess.run([*compiler, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", "-o", folder / soname,
                    source], check=True)


def main():
    glibc, folder, *compiler = sys.argv[1:]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def path_of(name):
        return Path(subprocess.run([*compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip())

    for soname in LIBRARIES:
        library = path_of(soname)
        if library.is_absolute():
            make_stub(compiler, folder, soname, symbols(library, glibc))
    loader = next(folder / name for name in LIBRARIES if name.startswith("ld-") and (folder / name).exists())
    newer = folder / "libsince.a"
    newer.unlink(missing_ok=True)
    for name in ("since", "start"):
        subprocess.run([*compiler, "-std=gnu17", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-Wall", "-Wextra", "-Werror", "-c",
                        Path(__file__).with_name(f"{name}.c"), "-o", folder / f"{name}.o"], check=True)
        subprocess.run(["ar", "rcsD", newer, folder / f"{name}.o"], check=True)
    # As glibc's own libc.so.
    (folder / "libc.so").write_text(f"GROUP({newer} {folder / 'libc.so.6'} {path_of('libc_nonshared.a')} AS_NEEDED({loader}))\n")
    (folder / "libm.so").write_text(f"GROUP({folder / 'libm.so.6'})\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Breaks the product on purpose, one line at a time, and demands that a test notices.

    tests/mutants/check.py [--build build/release] [--jobs N] [--long] [--list] [NAME...]

A mutant is a table in one of the .toml files beside this script, which have one for each suite of tests, or in long/, which has
all others (tools/test has no time for those): what breaks, the text of the product that occurs
exactly once, what stands there instead, and the tests that must fail. The mutated source is compiled by the build's own
commands in a folder of its own; the product's files and its build stay as they are.
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

from build import ANALYZER, SHIM, Broken, Build, part_of

HERE = pathlib.Path(__file__).resolve().parent
LONG = HERE / "long"
TEST_SECONDS = 120


class Mutant:
    """One table of the list."""

    def __init__(self, name, table, long):
        self.name = name
        self.long = long
        self.breaks = table.pop("breaks")
        self.tests = table.pop("caught_by")
        self.needs = table.pop("needs", None)  # a shell command without whose success the tests see nothing
        # Sources to compile anew when a header is mutated; absent: all that include it, which may be every one.
        self.through = table.pop("through", None)
        self.edits = table.pop("edits", None) or [{key: table.pop(key) for key in ("file", "text", "becomes")}]
        if table:
            raise Broken(f"{name}: unknown key {', '.join(table)}")

    def files(self, build):
        """Path in the source tree -> mutated text."""
        mutated = {}
        for edit in self.edits:
            path = edit["file"]
            text = mutated.get(path) or build.text(path)
            count = text.count(edit["text"])
            if count != 1:
                raise Broken(f"{self.name}: its text occurs {count} times in {path}; it has to name one place: "
                             + edit["text"].strip().splitlines()[0])
            mutated[path] = text.replace(edit["text"], edit["becomes"])
        return mutated


def read_list():
    mutants = {}
    for path in sorted((*HERE.glob("*.toml"), *LONG.glob("*.toml"))):
        for name, table in tomllib.loads(path.read_text()).items():
            if name in mutants:
                raise Broken(f"{name} stands in the list twice")
            mutants[name] = Mutant(name, table, path.parent == LONG)
    return mutants


def chosen(mutants, names, long):
    unknown = [name for name in names if name not in mutants]
    if unknown:
        raise Broken(f"no mutant is called {', '.join(unknown)}")
    return [mutant for name, mutant in mutants.items() if (name in names if names else mutant.long == long)]


def passes(program, case, prefix, out):
    """Runs one case of a test with the product at `prefix`. What it has started ends with it: programs that a mutant has
    broken may go on for ever."""
    out.mkdir()
    environment = dict(os.environ, PREFIX_UNDER_TEST=str(prefix), TMPDIR=str(out))
    ran = subprocess.Popen([program, f"--run_test={case}"], env=environment, cwd=out, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        said, _ = ran.communicate(timeout=TEST_SECONDS)
    except subprocess.TimeoutExpired:
        return False, f"no end after {TEST_SECONDS} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(ran.pid, signal.SIGKILL)
        ran.wait()
    return ran.returncode == 0, said.decode(errors="replace")


def install(build, prefix, broken=None):
    """A folder as `umadvisor run` expects it: bin/umadvisor, lib/libumadvisor.so; `broken` is one of them."""
    for name in (ANALYZER, SHIM):
        made, to = build.folder / name, prefix / name
        if broken and broken.name == made.name:
            made = broken
        to.parent.mkdir(parents=True)
        try:
            os.link(made, to)  # not a symbolic one: the analyzer looks for the shim beside itself
        except OSError:
            shutil.copy2(made, to)


def check_intact(test, build, work):
    binary, case = test.split("/", 1)
    if not (build.folder / "bin" / binary).is_file():
        raise Broken(f"there is no bin/{binary}: build it first")
    passed, output = passes(build.folder / "bin" / binary, case, work / "intact", work / test.replace("/", "."))
    if not passed:
        raise Broken(f"{test} fails without any mutant:\n{output}")


def check_mutant(mutant, build, work):
    """Whether every test that is named notices. Tests of whole programs run with a broken shim or analyzer; tests of parts
    are linked with the broken objects."""
    if mutant.needs and subprocess.run(mutant.needs, shell=True, capture_output=True).returncode != 0:
        print(f"left out {mutant.name}: `{mutant.needs}` fails here", flush=True)
        return True
    folder = work / mutant.name
    prefix = folder / "prefix"
    costs = any(test.startswith("process_tests/process_cost_test/") for test in mutant.tests) # counts instructions
    objects = build.compile(mutant.name, mutant.files(build), folder, mutant.through, as_built=costs)
    missed = []
    for test in mutant.tests:
        binary, case = test.split("/", 1)
        if not binary.startswith("process_"):
            program = build.link(mutant.name, f"bin/{binary}", objects, folder)
        else:
            program = build.folder / "bin" / binary
            if not prefix.exists():
                target = part_of(mutant.edits[0]["file"])
                install(build, prefix, build.link(mutant.name, target, objects, folder))
        if passes(program, case, prefix, folder / test.replace("/", "."))[0]:
            missed.append(test)
    verdict = f"MISSED by {', '.join(missed)}" if missed else f"caught by {', '.join(mutant.tests)}"
    print(f"{mutant.name}: {verdict} ({mutant.breaks})", flush=True)
    shutil.rmtree(folder)
    return not missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build/release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() + 1, help="at a time; tests wait more than they compute")
    parser.add_argument("--long", action="store_true", help="those in long/, and only those")
    parser.add_argument("--list", action="store_true", help="print the whole list and end")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    try:
        whole = read_list()
        if arguments.list:
            for mutant in whole.values():
                print(f"{mutant.name}: {mutant.breaks}")
            return 0
        build = Build(HERE.parents[1], arguments.build.resolve())
        for mutant in whole.values():
            mutant.files(build)  # whose text has to be there, even if its turn is another time
        mutants = chosen(whole, arguments.names, arguments.long)
        with tempfile.TemporaryDirectory(prefix="umadvisor-mutants-") as temporary, \
                concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            work = pathlib.Path(temporary)
            install(build, work / "intact")
            tests = sorted({test for mutant in mutants for test in mutant.tests})
            list(pool.map(lambda test: check_intact(test, build, work), tests))
            verdicts = []
            for job in [pool.submit(check_mutant, mutant, build, work) for mutant in mutants]:
                try:
                    verdicts.append(job.result())
                except Broken as broken:
                    print(f"mutants: {broken}", file=sys.stderr, flush=True)
                    verdicts.append(False)
    except Broken as broken:
        print(f"mutants: {broken}", file=sys.stderr)
        return 1
    print(f"mutants: {sum(verdicts)} of {len(verdicts)} caught")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

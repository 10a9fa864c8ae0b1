"""What the product's build knows: how each of its sources is compiled, how the shim, the analyzer and the tests of their
parts are linked."""

import json
import os
import re
import shlex
import subprocess

SHIM, ANALYZER = "lib/libumadvisor.so", "bin/umadvisor"
# Folders of the objects that go into them, and the static libraries that these are put into.
PARTS = ("interposer/CMakeFiles/", "residency/CMakeFiles/", "policy/CMakeFiles/", "analyzer/")
LIBRARIES = re.compile(r"interposer/libinterposer_core\.a|analyzer/\w+/libroom_\w+\.a|residency/libresidency\.a|policy/libpolicy\.a")
SHIM_ONLY = "interposer/CMakeFiles/umadvisor_shim.dir/"  # not in interposer_core
VERSION_SCRIPT = "exports.map"
SCRIPT_OPTION = "-Wl,--version-script="


def part_of(path):
    """Target that a source, or an object of it, counts as part of: a mutant of the analyzer's own files is one of the
    analyzer, any other one of the shim."""
    return ANALYZER if path.startswith("analyzer/") else SHIM


class Broken(Exception):
    """The list or the build is wrong; the text is one line for whoever has to mend it."""


def run(command, folder, what):
    ran = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode != 0:
        said = ran.stderr.splitlines()
        lines = [line for line in said if ": error" in line or "multiple" in line or "undefined" in line] or said or ["?"]
        raise Broken(f"{what}: {lines[0]}")
    return ran.stdout


class Build:
    def __init__(self, source, folder):
        self.source, self.folder = source, folder
        if not (folder / SHIM).is_file():
            raise Broken(f"there is no {folder / SHIM}: build first")
        self.compilations = {}  # object -> (command, source)
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            command = shlex.split(entry["command"])
            made = command[command.index("-o") + 1]
            if made.startswith(PARTS):
                self.compilations[made] = (command, os.path.relpath(entry["file"], source))
        self.users = self._read_users()

    def _read_users(self):
        """File of the product -> objects that are compiled from it, by ninja's record of what was included."""
        users = {}
        made = None
        for line in run(["ninja", "-t", "deps"], self.folder, "ninja").splitlines():
            if line and not line.startswith(" "):
                made = line.split(":")[0]
            elif line and made in self.compilations:
                path = os.path.normpath(os.path.join(self.folder, line.strip()))
                users.setdefault(os.path.relpath(path, self.source), set()).add(made)
        for made, (_, path) in self.compilations.items():
            users.setdefault(path, set()).add(made)
        return users

    def compile(self, name, files, work, through=None, as_built=False):
        """The objects that `files` (path -> text) change, compiled: object of the build -> mutated one. With `through`
        only those of these sources. Unless `as_built`, in the least time, since most mutants run for seconds: the shim
        so that its frames are as few as they are built."""
        overlay = work / "overlay"
        for path, text in files.items():
            (overlay / path).parent.mkdir(parents=True, exist_ok=True)
            (overlay / path).write_text(text)
        objects = {}
        for path in files:
            for made in self.users.get(path, ()):
                if part_of(made) == part_of(path) and (through is None or self.compilations[made][1] in through):
                    objects[made] = work / "objects" / made
        if not objects and VERSION_SCRIPT not in files:
            raise Broken(f"{name}: nothing of the product is made from {', '.join(files)}")
        for made, to in objects.items():
            quickly = ["-g0", "-O0" if part_of(made) == ANALYZER else "-O1"]
            self._compile(name, made, to, overlay, files, [] if as_built else quickly)
        return objects

    def _compile(self, name, made, to, overlay, files, options):
        command, path = self.compilations[made]
        to.parent.mkdir(parents=True, exist_ok=True)
        command = list(command)
        command[command.index("-o") + 1] = str(to)
        if "/Unity/" in path:  # sources that are compiled as one, included by their whole paths
            text = (self.source / path).read_text()
            for mutated in files:
                text = text.replace(f'"{self.source / mutated}"', f'"{overlay / mutated}"')
            path = overlay.parent / os.path.basename(path)
            path.write_text(text)
            command[command.index("-c") + 1] = str(path)
        elif path in files:
            command[command.index("-c") + 1] = str(overlay / path)
        # Quoted includes are looked for here first, so a mutated header stands before the product's. A mutant may
        # leave something unused.
        command[command.index("-c"):command.index("-c")] = ["-iquote", str(overlay), "-Wno-error", *options]
        run(command, self.folder, f"{name} does not compile")

    def link(self, name, target, objects, work):
        """The target with the mutated objects, by its own command. Those of static libraries are put before the first, so
        none is asked for them. Answers the path."""
        made = work / os.path.basename(target)
        last = run(["ninja", "-t", "commands", target], self.folder, "ninja").splitlines()[-1]
        words = shlex.split(last.removeprefix(": && ").removesuffix(" && :"))
        script = work / "overlay" / VERSION_SCRIPT
        command = []
        placed = False
        for word in words:
            if word == target:
                word = str(made)
            elif word in objects:
                word = str(objects[word])
            elif word.startswith(SCRIPT_OPTION) and script.exists():
                word = SCRIPT_OPTION + str(script)
            elif LIBRARIES.fullmatch(word) and not placed:
                placed = True
                command += [str(to) for original, to in objects.items()
                            if original not in words and not original.startswith(SHIM_ONLY)]
            command.append(word)
        run(command, self.folder, f"{name} does not link")
        return made

    def text(self, path):
        """A file of the product; the version script is made by the build."""
        folder = self.folder / "interposer" if path == VERSION_SCRIPT else self.source
        return (folder / path).read_text()

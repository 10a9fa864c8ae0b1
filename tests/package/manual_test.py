#!/usr/bin/env python3
"""The manual pages: every command, option and variable is in them, and man shows them. UMADVISOR_BUILD names the build."""

import gzip
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

BUILD = Path(os.environ["UMADVISOR_BUILD"])
PROGRAM = BUILD / "bin" / "umadvisor"


def said(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def shown(page):
    """What a reader sees of a page."""
    text = said("man", "--no-hyphenation", "--no-justification", "-l", "-", input=page,
                env={**os.environ, "MANWIDTH": "200", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
    return re.sub(".\b", "", text)


def on_one_line(text):
    return " ".join(text.split())


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("scdoc") or not shutil.which("man"):
            raise unittest.SkipTest("no scdoc or no man here")
        cls.pages = {name: gzip.decompress((BUILD / "analyzer" / "cli" / f"{name}.gz").read_bytes()).decode()
                     for name in ("umadvisor.1", "libumadvisor.7")}

    def test_every_command_and_every_option_is_there(self):
        sections = re.split(r"^   umadvisor (\w+)$", shown(self.pages["umadvisor.1"]).split("\nEXIT STATUS\n")[0], flags=re.M)[1:]
        commands = re.findall(r"^  (\w+)  ", said(PROGRAM, "--help").split("Subcommands:")[1], re.M)
        self.assertEqual(sections[::2], commands)
        self.assertGreater(len(commands), 15)
        for command, text in zip(commands, map(on_one_line, sections[1::2])):
            options = re.findall(r"^  ((?:-\w|--[\w-]+)(?:,--[\w-]+)*) ?(\S*)", said(PROGRAM, command, "--help"), re.M)
            self.assertEqual(options.pop(0)[0], "-h,--help")
            for flags, _ in options:
                self.assertIn(f" {flags.replace(',', ', ')} ", text, command)

    def test_every_variable_is_there_with_its_words(self):
        text = on_one_line(shown(self.pages["libumadvisor.7"]))
        rows = re.findall(r"^(UMADVISOR_\w+) +(\w+) +(\S+) +(.+)$", said(PROGRAM, "help", "env"), re.M)
        self.assertGreater(len(rows), 15)
        for name, kind, default, words in rows:
            value = "not set" if default == "-" else default
            self.assertIn(f"{name} ({kind}, by default {value}) {words}", text)

    def test_man_has_nothing_to_object_to(self):
        for name, page in self.pages.items():
            done = subprocess.run(["man", "--warnings=w", "-l", "-"], input=page, capture_output=True, text=True,
                                  env={**os.environ, "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn(said(PROGRAM, "--version").split()[1], page, name)


if __name__ == "__main__":
    unittest.main()

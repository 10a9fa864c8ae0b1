#!/usr/bin/env python3
"""What `umadvisor completion SHELL` prints, in the shells that are there. UMADVISOR_BUILD names the build."""

import os
import re
import shutil
import subprocess
import unittest

PROGRAM = os.environ["UMADVISOR_BUILD"] + "/bin/umadvisor"


def said(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


class Completion(unittest.TestCase):
    def setUp(self):
        self.commands = re.findall(r"^  (\w+)  ", said(PROGRAM, "--help").split("Subcommands:")[1], re.M)
        self.assertIn("report", self.commands)

    def options(self, command):
        text = said(PROGRAM, command, "--help")
        return set(re.findall(r"^  (?:(?:-\w|--[\w-]+),)*(--[\w-]+)", text, re.M))

    def bash(self, *words):
        script = said(PROGRAM, "completion", "bash")
        line = " ".join(f"'{word}'" for word in words)
        return said("bash", "-c", f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _umadvisor; printf '%s\\n' \"${{COMPREPLY[@]}}\"").split()

    def test_bash_knows_every_command_and_every_option(self):
        self.assertEqual(set(self.bash("umadvisor", "")), {*self.commands, "--help", "--version"})
        self.assertEqual(self.bash("umadvisor", "rep"), ["report"])
        for command in self.commands:
            known = {word for word in self.bash("umadvisor", command, "-") if word.startswith("--")}
            self.assertEqual(known, self.options(command), command)

    def test_bash_leaves_the_program_of_run_alone(self):
        self.assertIn("--output", self.bash("umadvisor", "run", "--o"))
        self.assertEqual(self.bash("umadvisor", "run", "--", "ls", "--o"), [])

    def check_shell(self, shell, *check):
        if not shutil.which(shell):
            self.skipTest(f"no {shell} here")
        script = said(PROGRAM, "completion", shell)
        said(shell, *check, input=script)
        for command in self.commands:
            self.assertIn(command, script)
            for option in self.options(command):
                self.assertIn({"zsh": option + "[", "fish": "-l " + option[2:]}[shell], script)
        return script

    def test_zsh_can_read_it(self):
        self.check_shell("zsh", "-n", "/dev/stdin")

    def test_fish_completes_by_it(self):
        script = self.check_shell("fish", "--no-execute")
        self.assertIn("report\t", said("fish", "-c", script + "complete -C 'umadvisor rep'"))
        self.assertIn("--sarif\t", said("fish", "-c", script + "complete -C 'umadvisor report --sar'"))

    def test_another_shell_is_refused(self):
        done = subprocess.run([PROGRAM, "completion", "csh"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()

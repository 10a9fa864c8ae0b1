#!/usr/bin/env python3
"""pytest --umadvisor beside files of a user, and with names of tests that are more than a word."""

import json
import os
import subprocess
import sys
import textwrap
import unittest

import surface_test as surface

UPLOADS = "def test_{}():\n    assert address.value\n    for _ in range({}):\n        upload(1)\n"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


class Plugin(surface.Case):
    def setUp(self):
        super().setUp()
        try:
            import pytest  # noqa: F401
        except ImportError:
            self.skipTest("no pytest here")

    def pytest(self, *options, status=0, environment={}):
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", *surface.PLUGIN, "-p", "no:cacheprovider", *options], cwd=self.folder,
                              env={**os.environ, **environment}, capture_output=True)
        said = (done.stdout + done.stderr).decode("utf-8", "backslashreplace")
        self.assertEqual(done.returncode, status, said)
        self.assertNotIn("Traceback", said)
        self.assertNotIn("INTERNALERROR", said)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".umadvisor")], [])
        return said

    def write_suite(self, folder, text):
        (self.folder / folder).mkdir()
        (self.folder / folder / "test_it.py").write_text(textwrap.dedent(surface.DRIVER) + text)

    def known(self):
        return json.loads((self.folder / "known.json").read_text())["tests"]

    def test_a_file_that_is_no_trace_stays(self):
        self.write("test_it.py", UPLOADS.format("uploads", 40))
        (self.folder / "notes.txt").write_text("mine")
        (self.folder / "link").symlink_to("notes.txt")
        for name in ("notes.txt", "link", "."):
            said = self.pytest("--umadvisor", f"--umadvisor-trace={name}", status=4)
            self.assertIn("is no trace; name another file", said)
        self.assertEqual((self.folder / "notes.txt").read_text(), "mine")
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertIn("--umadvisor-trace: there is no folder", self.pytest("--umadvisor", "--umadvisor-trace=none/x.umtrace", status=4))
        self.assertIn("--umadvisor-trace: the name of a file is missing", self.pytest("--umadvisor", "--umadvisor-trace=", status=4))

    def test_a_trace_stays_until_there_is_another(self):
        self.write("test_it.py", UPLOADS.format("uploads", 40))
        self.pytest("--umadvisor", "--umadvisor-trace=x.umtrace")
        self.assertEqual(self.copies(), 40)
        first = (self.folder / "x.umtrace").read_bytes()
        for option, status in (("-knone", 5), ("--no-such-option", 4)):
            self.pytest("--umadvisor", "--umadvisor-trace=x.umtrace", option, status=status)
            self.assertEqual((self.folder / "x.umtrace").read_bytes(), first)
        self.write("test_it.py", UPLOADS.format("uploads", 30))
        self.pytest("--umadvisor", "--umadvisor-trace=x.umtrace")
        self.assertEqual(self.copies(), 30)

    def test_names_of_tests_keep_their_findings_apart(self):
        names = {os.fsdecode(b"bad\xff"): 40, "first x": 0, "x": 0, "two\nlines": 40, "two\\nlines": 0, "two\u2028lines": 0, "page\x0cbreak": 0,
                 "no\u00a0break": 0, "l" * 200: 40}
        for name, times in names.items():
            self.write_suite(name, UPLOADS.format("it", times))
        baseline = ("--umadvisor", "--umadvisor-baseline=known.json", "--import-mode=importlib")
        for environment in (ASCII, {}):
            said = self.pytest(*baseline, "--umadvisor-update-baseline", environment=environment)
            self.assertIn(f"{len(names)} passed", said)
            self.assertIn(f"known.json has the findings of {len(names)} tests", said)
            found = {os.fsencode(test.partition("/")[0]) for test in self.known() if test}
            self.assertEqual(found & set(map(os.fsencode, names)), {os.fsencode(name) for name, times in names.items() if times})
        # What one test may do is new in another that is nearly called so.
        (self.folder / "two\u2028lines" / "test_it.py").write_text(textwrap.dedent(surface.DRIVER) + UPLOADS.format("it", 40))
        said = self.pytest(*baseline, status=1)
        self.assertIn("umadvisor: FAILED two\\u2028lines/test_it.py::test_it: UMA-", said)
        self.assertEqual({line.partition("/")[0] for line in said.splitlines() if "FAILED" in line}, {"umadvisor: FAILED two\\u2028lines"})

    def test_a_test_may_change_what_is_around_it(self):
        self.write("test_it.py", """
            import os, sys, tempfile
            def test_environment(monkeypatch):
                monkeypatch.setattr(os, "environ", {})
                upload(40)
            def test_folder(tmp_path, monkeypatch):
                monkeypatch.chdir(tmp_path)
                tmp_path.rmdir()
                upload(40)
            """)
        self.pytest("--umadvisor", "--umadvisor-baseline=known.json", "--umadvisor-update-baseline", "-W", "error")
        self.assertEqual({test.partition("::")[2] for test in self.known()} - {""}, {"test_environment", "test_folder"})

    def test_what_is_no_baseline_is_one_line(self):
        self.write("test_it.py", UPLOADS.format("it", 0))
        for text in (b"[" * 200_000, b"\xff", b'{"schema": "umadvisor-pytest-1", "tests": {"a": [{"rule": [], "file": 1, "function": null}]}}'):
            (self.folder / "known.json").write_bytes(text)
            self.assertIn("known.json is no baseline", self.pytest("--umadvisor", "--umadvisor-baseline=known.json", status=4))
        self.assertIn("cannot be read", self.pytest("--umadvisor", "--umadvisor-baseline=.", status=4))
        said = self.pytest("--umadvisor", "--umadvisor-baseline=none/known.json", "--umadvisor-update-baseline", status=1)
        self.assertIn("umadvisor: [Errno 2] No such file", said)

    def test_nothing_is_left_where_it_is_asked_to_end(self):
        self.write("test_it.py", """
            import os, re, signal
            def test_asks(request):
                number = signal.Signals[os.environ["ASKS"]]
                asked = int(re.search(r"PPid:\\s+(\\d+)", open(f"/proc/{os.getppid()}/status").read())[1])  # it started umadvisor run
                os.kill(asked, number)
                while number != signal.SIGINT:  # which a terminal sends to all of them
                    signal.pause()
            """)
        for name, status in (("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 0)):
            self.pytest("--umadvisor", "--umadvisor-trace=x.umtrace", status=status, environment={"ASKS": name})

    def test_a_request_to_end_before_there_is_a_child_is_kept_for_it(self):
        self.write("test_it.py", "import time\ndef test_waits():\n    time.sleep(20)\n")
        (self.folder / "conftest.py").write_text(textwrap.dedent("""
            import os, signal, subprocess
            start = subprocess.Popen
            def asked_to_end(*arguments, **options):
                subprocess.Popen = start
                os.kill(os.getpid(), signal.SIGTERM)
                return start(*arguments, **options)
            if "UMADVISOR_PYTEST_RAN" not in os.environ:
                subprocess.Popen = asked_to_end
            """))
        self.pytest("--umadvisor", status=143)

    def test_an_update_keeps_what_is_known_outside_of_tests(self):
        self.write("test_it.py", "\nupload(40)\ndef test_it():\n    pass\n")
        others = {"rule": "UMA-101", "file": "other.py", "function": "load"}
        (self.folder / "known.json").write_text(json.dumps({"schema": "umadvisor-pytest-1", "tests": {"": [others, others]}}))
        update = ("--umadvisor", "--umadvisor-baseline=known.json", "--umadvisor-update-baseline")
        self.pytest(*update)
        known = self.known()[""]
        self.assertEqual(known.count(others), 2)
        self.assertGreater(len(known), 2)
        self.pytest(*update)
        self.assertEqual(self.known()[""], known)

    def test_it_does_not_start_itself_over_and_over(self):
        self.write("test_it.py", UPLOADS.format("it", 0))
        program = self.folder / "loses-the-recorder"
        program.write_text("#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n")
        program.chmod(0o700)
        said = self.pytest("--umadvisor", environment={"UMADVISOR_PROGRAM": str(program)})
        self.assertIn("nothing is recorded", said)
        self.assertIn("1 passed", said)

    def test_a_program_that_is_not_there_is_one_line(self):
        self.write("test_it.py", UPLOADS.format("it", 0))
        self.assertIn("ERROR: --umadvisor: ", self.pytest("--umadvisor", environment={"UMADVISOR_PROGRAM": "/nowhere"}, status=4))


class Anew(surface.Case):
    """ensure_recorded() where the program cannot be recorded."""

    def check_goes_on(self, options, reason, environment={}):
        script = self.write("program.py", f"import umadvisor\numadvisor.ensure_recorded({options})\nupload(2)\nprint('done')\n")
        for warnings in ("default", "error"):
            done = subprocess.run([sys.executable, "-W", warnings, script], cwd=self.folder, env={**os.environ, **environment},
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
            self.assertEqual(done.stderr.count("this process is not recorded: "), 1, done.stderr)
            self.assertIn(reason, done.stderr)

    def test_it_goes_on_with_one_warning(self):
        (self.folder / "x.umtrace").write_text("mine")
        self.check_goes_on("'-o', 'x.umtrace'", "exists already")
        self.assertEqual((self.folder / "x.umtrace").read_text(), "mine")
        self.check_goes_on("'--no-such-option'", "no-such-option")
        self.check_goes_on("'--help'", "does not start a program")
        self.check_goes_on("'--', 'true'", "does not start a program")
        self.check_goes_on("'-o', 'a\\0b'", "null byte")
        self.check_goes_on("", "No such file", {"UMADVISOR_PROGRAM": "/nowhere"})

    def test_it_does_not_start_itself_over_and_over(self):
        program = self.folder / "loses-the-recorder"
        program.write_text("#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n")
        program.chmod(0o700)
        self.check_goes_on("", "the recorder was not loaded", {"UMADVISOR_PROGRAM": str(program)})


if __name__ == "__main__":
    unittest.main()

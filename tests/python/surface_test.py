#!/usr/bin/env python3
"""The Python surface on simcuda: what is recorded, and what comes back of it. UMADVISOR_BUILD names the build;
without it the installed package is tested, with simcuda in UMADVISOR_SIMCUDA."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

if "UMADVISOR_BUILD" in os.environ:
    BUILD, SOURCE = Path(os.environ["UMADVISOR_BUILD"]), Path(__file__).resolve().parents[2] / "python"
    os.environ.update(PYTHONPATH=str(SOURCE), PYTHONDONTWRITEBYTECODE="1", UMADVISOR_PROGRAM=str(BUILD / "bin" / "umadvisor"),
                      UMADVISOR_RANGES=str(BUILD / "lib" / "libumadvisor_ranges.so"), LD_LIBRARY_PATH=str(BUILD / "lib" / "simcuda"))
    sys.path.insert(0, str(SOURCE))
    sys.dont_write_bytecode = True
    PLUGIN = ("-p", "umadvisor.pytest_plugin")
else:
    os.environ["LD_LIBRARY_PATH"] = os.environ["UMADVISOR_SIMCUDA"]
    PLUGIN = ()  # pytest finds it

# Nobody's own: the first run of it measures simcuda, and the others know it from there.
OWN = tempfile.TemporaryDirectory()
os.environ.update(XDG_CONFIG_HOME=OWN.name + "/config", XDG_CACHE_HOME=OWN.name + "/cache")

import umadvisor  # noqa: E402

# Uploads of 8 MiB; simcuda's names are the driver's.
DRIVER = """
    import ctypes
    cuda = ctypes.CDLL("libcuda.so.1")
    context, address, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t(8 << 20)
    host = ctypes.create_string_buffer(size.value)
    cuda.cuInit(0)
    cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
    cuda.cuMemAlloc_v2(ctypes.byref(address), size)
    def upload(times):
        for _ in range(times):
            assert cuda.cuMemcpyHtoD_v2(address, host, size) == 0
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(textwrap.dedent(DRIVER) + textwrap.dedent(text))
        return name

    def run_in_folder(self, *command, status=0):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def umadvisor(self, *arguments, status=0):
        return self.run_in_folder(sys.executable, "-m", "umadvisor", *arguments, status=status)

    def copies(self, *options):
        return sum(each["count"] for each in umadvisor.report(self.folder / "x.umtrace", *options).raw["copies"])


class Surface(Case):
    def test_a_script_is_run_with_this_interpreter(self):
        script = self.write("program.py", "upload(3)\nimport sys\nprint(sys.executable, sys.argv[1:])\n")
        done = self.umadvisor("run", "--no-calibrate", "-o", "x.umtrace", script, "-q", "more")
        self.assertIn(f"{sys.executable} ['-q', 'more']", done.stdout)
        self.assertEqual(self.copies(), 3)
        self.assertIn("pyhton: no such program", self.umadvisor("run", "pyhton", script, status=127).stderr)
        done = self.umadvisor("run", "-q", "--no-calibrate", "-f", "-o", "x.umtrace", sys.executable, script)
        self.assertIn(f"{sys.executable} []", done.stdout)

    def test_record_pauses_what_is_outside_where_the_program_says_what_is_recorded(self):
        script = self.write("program.py", """
            import umadvisor
            upload(3)
            with umadvisor.record():
                upload(5)
                with umadvisor.record():
                    upload(1)
                upload(1)
            upload(4)

            @umadvisor.record("again")
            def work():
                upload(2)
            work()
            work()
            """)
        self.umadvisor("run", "--no-calibrate", "-c", "cudaProfilerApi", "-o", "x.umtrace", script)
        self.assertEqual(self.copies(), 11)
        self.umadvisor("run", "--no-calibrate", "-f", "-o", "x.umtrace", script)
        self.assertEqual(self.copies(), 18)
        self.assertEqual(self.copies("--range", "record"), 7)
        self.assertEqual(self.copies("--range", "again"), 4)

    def test_record_may_come_before_the_driver_is_initialised(self):
        (self.folder / "program.py").write_text(f"import umadvisor\nwith umadvisor.record():\n{textwrap.indent(textwrap.dedent(DRIVER), '    ')}    upload(2)\n")
        self.umadvisor("run", "--no-calibrate", "-c", "cudaProfilerApi", "-o", "x.umtrace", "program.py")
        self.assertEqual(self.copies(), 2)

    def test_steps_are_ranges(self):
        script = self.write("program.py", """
            import umadvisor
            for _ in range(4):
                with umadvisor.step("train"):
                    upload(2)
            """)
        self.umadvisor("run", "--no-calibrate", "-o", "x.umtrace", script)
        ranges = {each["name"]: each["count"] for each in umadvisor.report(self.folder / "x.umtrace").raw["ranges"]}
        self.assertEqual(ranges, {"train": 4})

    def test_a_process_that_is_not_recorded_goes_on_with_one_warning(self):
        script = self.write("program.py", """
            import umadvisor
            for _ in range(3):
                with umadvisor.record(), umadvisor.step():
                    upload(1)
            print("done", umadvisor.is_recorded())
            """)
        done = self.run_in_folder(sys.executable, script)
        self.assertEqual(done.stdout, "done False\n")
        self.assertEqual(done.stderr.count("is not recorded"), 1, done.stderr)
        self.assertIn("program.py", done.stderr)

    def test_a_program_starts_itself_anew_where_it_is_not_recorded(self):
        script = self.write("program.py", """
            import sys, umadvisor
            print("begins", umadvisor.is_recorded(), sys.argv[1:], flush=True)
            umadvisor.ensure_recorded("-q", "--no-calibrate", "-o", "x.umtrace")
            upload(2)
            """)
        done = self.run_in_folder(sys.executable, script, "argument")
        self.assertEqual(done.stdout, "begins False ['argument']\nbegins True ['argument']\n")
        self.assertEqual(self.copies(), 2)

    def test_a_report_is_what_the_json_says(self):
        script = self.write("program.py", "for _ in range(40):\n    upload(1)\n")
        self.umadvisor("run", "--no-calibrate", "-o", "x.umtrace", script)
        found = umadvisor.report(self.folder / "x.umtrace")
        raw = json.loads(self.umadvisor("report", "--json", "x.umtrace").stdout)
        self.assertTrue(found.complete)
        self.assertEqual(found.duration_ns, raw["process"]["duration_ns"])
        self.assertGreater(len(found.findings), 0)
        self.assertEqual(len(found.findings), len(raw["findings"]))
        for finding, its in zip(found.findings, raw["findings"]):
            for key in ("rule", "title", "advice", "saving_ns", "saving_bytes", "confidence"):
                self.assertEqual(getattr(finding, key), its[key])
            self.assertEqual(dataclasses.asdict(finding)["places"], tuple(
                {"text": place["text"], "line": {key: place["line"][key] for key in ("text", "function", "file", "line", "module", "source")}}
                for place in its["places"]))
            self.assertIn("program.py:", str(finding.line))

    def test_a_report_shows_itself_as_text_and_as_a_page(self):
        script = self.write("program.py", "for _ in range(40):\n    upload(1)\n")
        self.umadvisor("run", "--no-calibrate", "-o", "x.umtrace", script)
        found = umadvisor.report(self.folder / "x.umtrace")
        self.assertTrue(str(found).startswith("program.py · "), str(found))
        self.assertIn(f" · {len(found.findings)} finding", str(found))
        self.assertIn("UMA-106", str(found))
        self.assertIn("program.py:", str(found))
        self.assertEqual(repr(found), str(found))
        self.assertLess(len(str(found)), 2000)
        self.assertNotIn("raw", repr(found.findings[0]))
        page = found._repr_html_()
        if page is not None:  # a build without npm has none
            self.assertTrue(page.startswith("<iframe srcdoc="), page[:100])
            self.assertIn("umadvisor: program.py", page)
        os.unlink(self.folder / "x.umtrace")
        self.assertIsNone(found._repr_html_())  # the text is shown then

    def test_a_table_without_pandas_is_an_error_that_says_what_to_install(self):
        script = self.write("program.py", "upload(1)\n")
        self.umadvisor("run", "--no-calibrate", "-o", "x.umtrace", script)
        found = umadvisor.report(self.folder / "x.umtrace")
        with mock.patch.dict(sys.modules, pandas=None), self.assertRaisesRegex(ImportError, "pip install pandas") as caught:
            found.to_pandas()
        self.assertIsInstance(caught.exception, umadvisor.UmadvisorError)

    @mock.patch.dict(os.environ, SIMCUDA_CONFIG="memory=numa", XDG_CONFIG_HOME=os.devnull) # nobody has measured it
    def test_findings_without_a_price_are_told_apart(self):
        script = self.write("program.py", "for _ in range(40):\n    upload(1)\n")
        self.umadvisor("run", "--no-calibrate", "-o", "x.umtrace", script)
        found = umadvisor.report(self.folder / "x.umtrace")
        self.assertEqual([finding.rule for finding in found.unpriced], [its["rule"] for its in found.raw["unpriced"]])
        self.assertIn("UMA-106", [finding.rule for finding in found.unpriced])
        self.assertNotIn("UMA-106", [finding.rule for finding in found.findings])

    def test_a_trace_that_cannot_be_read_is_an_error(self):
        with self.assertRaisesRegex(umadvisor.UmadvisorError, "No such file"):
            umadvisor.report(self.folder / "none.umtrace")

    def test_a_cell_runs_under_umadvisor(self):
        cells = []
        class Shell:
            def register_magic_function(self, function, kind, name):
                cells.append((function, kind, name))
        umadvisor.load_ipython_extension(Shell())
        [(magic, kind, name)] = cells
        self.assertEqual((kind, name), ("cell", "umadvisor"))
        script = self.write("cell.py", "upload(40)\nprint('from the cell')\n")
        code = "import sys, pathlib\nfrom umadvisor import _notebook\n_notebook.umadvisor('--no-calibrate', pathlib.Path(sys.argv[1]).read_text())\n"
        done = self.run_in_folder(sys.executable, "-c", code, script)
        self.assertIn("from the cell", done.stdout)
        self.assertIn("UMA-", done.stdout)


class Pytest(Case):
    def setUp(self):
        super().setUp()
        try:
            import pytest  # noqa: F401
        except ImportError:
            self.skipTest("no pytest here")

    def pytest(self, *options, status=0):
        return self.run_in_folder(sys.executable, "-m", "pytest", "-q", *PLUGIN, "-p", "no:cacheprovider", *options,
                                  "suite.py", status=status).stdout

    def pytest_fails(self, *options):
        """What it says on standard error when it is asked for something impossible (4)."""
        return self.run_in_folder(sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", *options, "suite.py", status=4).stderr

    def test_findings_fail_the_suite_where_asked(self):
        self.write("suite.py", "def test_uploads():\n    for _ in range(40):\n        upload(1)\n")
        self.assertNotIn("UMA-", self.pytest())
        said = self.pytest("--umadvisor", "--umadvisor-trace", "x.umtrace")
        self.assertIn("1 passed", said)
        self.assertIn("umadvisor: UMA-", said)
        self.assertEqual(self.copies("--range", "*::test_uploads"), 40)
        self.assertIn("umadvisor: FAILED UMA-", self.pytest("--umadvisor", "--umadvisor-fail-on", "low", status=1))

    @mock.patch.dict(os.environ, SIMCUDA_CONFIG="memory=numa", XDG_CONFIG_HOME=os.devnull) # nobody has measured it
    def test_findings_without_a_price_count_as_of_low_confidence(self):
        self.write("suite.py", "def test_uploads():\n    for _ in range(40):\n        upload(1)\n")
        self.assertIn("umadvisor: UMA-106", self.pytest("--umadvisor"))
        self.assertIn("umadvisor: FAILED UMA-106", self.pytest("--umadvisor", "--umadvisor-fail-on", "low", status=1))

    def test_a_suite_without_findings_passes(self):
        self.write("suite.py", "def test_allocates():\n    assert address.value\n")
        self.assertIn("no findings", self.pytest("--umadvisor", "--umadvisor-fail-on", "low"))

    def test_what_did_not_run_is_not_judged(self):
        (self.folder / "suite.py").write_text("def test_nothing():\n    pass\n")
        self.assertIn("no test used CUDA", self.pytest("--umadvisor"))
        self.assertIn("there is no folder", self.pytest_fails("--umadvisor", "--umadvisor-trace", "none/x.umtrace"))

    def test_the_tests_own_failure_stays(self):
        self.write("suite.py", "def test_fails():\n    assert address.value == 0\n")
        self.assertIn("1 failed", self.pytest("--umadvisor", status=1))

    def test_a_baseline_knows_the_findings_of_each_test(self):
        uploads = "def test_{}():\n    assert address.value\n    for _ in range({}):\n        upload(1)\n"
        self.write("suite.py", uploads.format("first", 40) + uploads.format("second", 0))
        with_baseline = ("--umadvisor", "--umadvisor-fail-on", "low", "--umadvisor-baseline", "known.json")
        self.assertIn("no known.json", self.pytest_fails(*with_baseline))
        self.assertIn("has the findings of 2 tests", self.pytest(*with_baseline, "--umadvisor-update-baseline"))
        known = json.loads((self.folder / "known.json").read_text())["tests"]
        self.assertEqual(list(known), ["suite.py::test_first"])
        self.assertEqual({(each["file"], each["function"]) for each in known["suite.py::test_first"]}, {("suite.py", "upload")})
        self.assertIn("umadvisor: 0 new findings", self.pytest(*with_baseline))

        # What one test may do is new in the other; lines may shift.
        self.write("suite.py", "\n\n" + uploads.format("first", 40) + uploads.format("second", 40))
        said = self.pytest(*with_baseline, status=1)
        self.assertIn("umadvisor: FAILED suite.py::test_second: UMA-", said)
        self.assertNotIn("FAILED suite.py::test_first", said)
        # An update of some tests leaves the others.
        self.pytest(*with_baseline, "--umadvisor-update-baseline", "-k", "second")
        known["suite.py::test_second"] = json.loads((self.folder / "known.json").read_text())["tests"]["suite.py::test_second"]
        self.assertEqual(json.loads((self.folder / "known.json").read_text())["tests"], known)

    def test_what_means_something_in_a_glob_means_nothing_in_the_name_of_a_test(self):
        self.write("suite.py", """
            import pytest
            @pytest.mark.parametrize("times", [40, 0], ids=["*", "a[b]\\\\?"])
            def test_uploads(times):
                for _ in range(times):
                    upload(1)
            """)
        self.pytest("--umadvisor", "--umadvisor-baseline", "known.json", "--umadvisor-update-baseline")
        known = json.loads((self.folder / "known.json").read_text())["tests"]
        self.assertEqual(list(known), ["suite.py::test_uploads[*]"])

    def test_a_file_that_is_no_baseline_is_refused(self):
        self.write("suite.py", "def test_nothing():\n    pass\n")
        for text in ("", "[]", '{"schema": "another"}', '{"schema": "umadvisor-pytest-1", "tests": {"a": [{"rule": "UMA-101"}]}}'):
            (self.folder / "known.json").write_text(text)
            self.assertIn("known.json is no baseline", self.pytest_fails("--umadvisor", "--umadvisor-baseline", "known.json"))
        self.assertIn("needs --umadvisor-baseline", self.pytest_fails("--umadvisor", "--umadvisor-update-baseline"))

    def test_the_test_that_uses_cuda_first_has_findings_of_its_own(self):
        (self.folder / "suite.py").write_text(
            "def test_early():\n    pass\n\ndef test_first():\n" + textwrap.indent(textwrap.dedent(DRIVER), "    ") + "    upload(40)\n")
        self.pytest("--umadvisor", "--umadvisor-baseline", "known.json", "--umadvisor-update-baseline")
        self.assertEqual(list(json.loads((self.folder / "known.json").read_text())["tests"]), ["suite.py::test_first"])


if __name__ == "__main__":
    unittest.main()

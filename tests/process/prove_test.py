"""`umadvisor prove`: a diff is built and run beside the sources as they are, and what it does to output, time and findings is said."""

import difflib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from traces import ADVISOR, BUILD, environment

HEADERS = os.environ["UMADVISOR_CUDA_INCLUDE"]
LIBRARIES = BUILD / "lib/simcuda"
COMPILE = f"c++ -g -x c++ -I{HEADERS} -o app src/app.cu -L{LIBRARIES} -lcudart"
SOURCE = """#include <chrono>
#include <cstdio>
#include <cuda_runtime.h>
#define CHECK(call) if ((call) != cudaSuccess) return 1

int main() {
    const size_t bytes = 8 << 20;
    float *stage = nullptr, *device = nullptr, last = 0;
    const auto begin = std::chrono::steady_clock::now();
    CHECK(cudaMalloc(&device, bytes));
    for (int i = 0; i < 20; ++i) {
        CHECK(cudaMallocHost(&stage, bytes));
        stage[5] = i;
        CHECK(cudaMemcpy(device, stage, bytes, cudaMemcpyHostToDevice));
        CHECK(cudaFreeHost(stage));
    }
    CHECK(cudaMemcpy(&last, device + 5, sizeof last, cudaMemcpyDeviceToHost));
    std::printf("last %g\\n", last);
    return 0;
}
"""
FAULT = "UMA-407 host memory page-locked again and again, app.cu:12 in main()"
PRINT_TIME = (
    '    std::printf("took %lld ns\\n", static_cast<long long>((std::chrono::steady_clock::now() - begin).count()));\n    return 0;\n'
)
SCRIPT = """import work
work.copy()
"""
WORK = """import ctypes
cuda = ctypes.CDLL("libcudart.so")

def copy():
    place = ctypes.c_void_p()
    if cuda.cudaMalloc(ctypes.byref(place), ctypes.c_size_t(1 << 20)) == 0:
        print("allocated")
"""


class Prove(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()
        self.tree, self.temporary = self.folder / "tree", self.folder / "tmp"
        self.temporary.mkdir()
        self.write("src/app.cu", SOURCE)

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def diff(self, *changes, file="src/app.cu", text=""):
        """A diff that replaces the first of each pair of texts in a file of the tree, after `text`."""
        before = after = (self.tree / file).read_text()
        for old, new in changes:
            self.assertIn(old, after)
            after = after.replace(old, new)
        lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{file}", f"b/{file}")
        path = self.folder / "fix.diff"
        path.write_text(text + "".join(lines))
        return path

    def prove(self, diff, *options, build=COMPILE, command=("./app",), inside=".", **variables):
        built = ["--build", build] if build else []
        return subprocess.run([ADVISOR, "prove", diff, "-n", "4", "--no-calibrate", *built, *options, "--", *command], cwd=self.tree / inside,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env=environment(TMPDIR=str(self.temporary), **variables))

    def refused(self, outcome, words):
        """Nothing was proved, for a reason that one line says; returns that line."""
        self.assertEqual((outcome.returncode, outcome.stdout), (1, ""), outcome.stderr)
        line = outcome.stderr.splitlines()[-1]
        self.assertIn(words, line)
        self.assertTrue(line.startswith("umadvisor: "), outcome.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return line

    def state(self):
        return {path.relative_to(self.tree): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
                for path in self.tree.rglob("*")}

    def test_a_patch_is_proved(self):
        trace = self.folder / "app.umtrace"
        subprocess.run(COMPILE, shell=True, cwd=self.tree, check=True)
        subprocess.run([ADVISOR, "run", "-q", "--no-calibrate", "-o", trace, "--", "./app"], cwd=self.tree, check=True,
                       stdout=subprocess.DEVNULL, env=environment())
        diff = self.folder / "fix.diff"
        diff.write_text(subprocess.run([ADVISOR, "patch", "--only", "UMA-407", trace], cwd=self.tree, check=True,
                                       stdout=subprocess.PIPE, text=True).stdout)
        self.assertIn(f"1. {FAULT}: saves about", diff.read_text())
        (self.tree / "app").unlink()
        before = self.state()
        outcome = self.prove(diff)
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""), outcome.stdout)
        lines = outcome.stdout.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["old", "new", "results", "gain", "finding", "patch"])
        self.assertIn("equal in all runs: exit status 0, standard output (8 bytes)", lines[2])
        self.assertRegex(lines[3], r"^gain: +[\d.]+ times as fast \([\d.]+% interval ")
        self.assertEqual(lines[4:], [f"finding:  gone: {FAULT}", "patch:    gains time; changes no output"])
        self.assertEqual(self.state(), before)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_findings_that_stay_or_were_not_there_are_said(self):
        names = f"1. {FAULT}: saves about 50 ms\n2. UMA-601 wait missing, app.cu:3 in main()\n\n"
        outcome = self.prove(self.diff(("    for (int i", "    // A loop.\n    for (int i"), text=names), "--json")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        found = json.loads(outcome.stdout)
        still, unseen = found["findings"]
        self.assertEqual((still["finding"], still["state"]), (FAULT, "still there"))
        self.assertGreater(still["saving_ns"], 1e6)
        self.assertEqual(unseen, {"finding": "UMA-601 wait missing, app.cu:3 in main()", "state": "not found before"})
        self.assertEqual((found["schema"], found["output"], found["verdict"], found["holds"]), ("umadvisor-prove-1", "equal", "no gain", True))
        self.assertEqual(len(found["old"]["times_s"]), 4)

    def test_a_patch_that_changes_the_output_does_not_hold(self):
        outcome = self.prove(self.diff(("stage[5] = i", "stage[5] = 2 * i")))
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("results:  standard output differs: from byte 6 on in new run 1\n", outcome.stdout)
        self.assertIn("finding:  the diff names none\n", outcome.stdout)
        self.assertRegex(outcome.stdout, r"patch:    .*; changes the output\n$")
        fails = self.prove(self.diff(("return 0;", "return 3;")))
        self.assertEqual(fails.returncode, 1)
        self.assertIn("results:  exit status differs: exit status 3 in new run 1", fails.stdout)
        self.assertIn("patch:    no gain in time is shown; changes the output\n", fails.stdout)
        crashes = self.prove(self.diff(("    CHECK(cudaMalloc(&d", "    __builtin_trap();\n    CHECK(cudaMalloc(&d"),
                                       text=f"1. {FAULT}: saves about 50 ms\n"))
        self.assertEqual(crashes.returncode, 1)
        self.assertIn(f"finding:  not known, since a recorded run failed: {FAULT}", crashes.stdout)

    def test_a_patch_that_loses_time_does_not_hold(self):
        outcome = self.prove(self.diff(("i < 20", "i < 20 + 20"), ("stage[5] = i", "stage[5] = i % 20")))
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("\nloss: ", outcome.stdout)
        self.assertIn("patch:    loses time; changes no output\n", outcome.stdout)

    def test_output_that_varies_is_equal_without_what_is_ignored(self):
        self.write("src/app.cu", SOURCE.replace("    return 0;\n", PRINT_TIME))
        diff = self.diff(("i < 20", "i < 10 + 10"))
        varies = self.prove(diff)
        self.assertEqual(varies.returncode, 0, varies.stderr)
        self.assertIn("results:  standard output varies by itself: ", varies.stdout)
        self.assertIn("; its effect on the output is unknown, which varies without it", varies.stdout)
        equal = self.prove(diff, "--ignore", "no such words", "--ignore", "[0-9]+ ns")
        self.assertEqual(equal.returncode, 0, equal.stderr)
        self.assertIn("standard output (14 bytes)\n", equal.stdout)
        self.assertIn("; changes no output\n", equal.stdout)
        whole = self.prove(diff, "--ignore", "^took .*")
        self.assertIn("standard output (8 bytes)\n", whole.stdout)
        wrong = self.prove(diff, "--ignore", "(")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("--ignore (: is no regular expression: ", wrong.stderr)

    def test_which_copy_it_was_is_no_difference(self):
        self.write(".git/HEAD", "ref: refs/heads/main\n")
        outcome = self.prove(self.diff(("i < 20", "i < 10 + 10")),
                             command=("sh", "-c", 'pwd; echo "$PWD"; ./app >out; echo "$(pwd)/src"'), build="cd .. && " + COMPILE + " && mv app src",
                             inside="src")
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)
        self.assertIn(f"standard output ({3 * len(str(self.tree / 'src')) + 3 + 4} bytes)", outcome.stdout)

    def test_files_are_compared(self):
        diff = self.diff(("stage[5] = i", "stage[5] = 2 * i"))
        outcome = self.prove(diff, "--compare", "out", command=("sh", "-c", "./app >out"))
        self.assertEqual(outcome.returncode, 1, outcome.stderr)
        self.assertIn("results:  out differs: from byte 6 on in new run 1\n", outcome.stdout)

    def test_a_diff_that_does_not_apply(self):
        diff = self.diff(("i < 20", "i < 30"))
        self.write("src/app.cu", SOURCE.replace("i < 20", "i < 25"))
        self.refused(self.prove(diff), f"{diff} does not apply to the tree: git: error: patch failed: src/app.cu:")
        diff.write_text("nothing\n")
        self.refused(self.prove(diff), f"{diff} does not apply to the tree: git: error: ")
        self.refused(self.prove(self.folder / "none.diff"), "none.diff")

    def test_without_git_patch_applies_the_diff(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for tool in ("patch", "c++", "as", "ld"):
            (tools / tool).symlink_to(subprocess.run(["sh", "-c", f"command -v {tool}"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip())
        diff = self.diff(("stage[5] = i", "stage[5] = 2 * i"))
        outcome = self.prove(diff, PATH=str(tools))
        self.assertIn("standard output differs: from byte 6 on", outcome.stdout, outcome.stderr)
        self.write("src/app.cu", SOURCE.replace("stage[5] = i", "stage[5] = i + 1"))
        self.refused(self.prove(diff, PATH=str(tools)), "does not apply to the tree: patch: 1 out of 1 hunk FAILED")

    def test_a_diff_that_leaves_the_tree_or_has_no_sense_is_refused(self):
        outside = self.tree.parent / "outside"
        outside.write_text("old\n")
        before = outside.stat().st_mtime_ns
        for name in ("b/../outside", f"b/{outside}", "b/src/../../outside"):
            diff = self.write("evil.diff", f"--- a/x\n+++ {name}\n@@ -1 +1 @@\n-old\n+new\n")
            self.refused(self.prove(diff), "which is not in the tree")
        self.assertEqual(outside.stat().st_mtime_ns, before)
        huge = self.write("huge.diff", f"--- a/src/app.cu\n+++ b/src/app.cu\n@@ -{2**63 - 1},{2**63 - 1} +1 @@\n-old\n+new\n")
        self.refused(self.prove(huge), "has a hunk of lines that no file has")

    def test_a_build_that_fails_is_named(self):
        outcome = self.prove(self.diff(("stage[5] = i", "stage[5] = nothing")))
        self.refused(outcome, "the new program does not build: exit status 1 of: c++ ")
        self.assertIn("was not declared", outcome.stderr)
        self.refused(self.prove(self.diff(("i < 20", "i < 30")), build="echo why >&2; exit 7"),
                     "the old program does not build: exit status 7 of: echo why")
        self.refused(self.prove(self.diff(("i < 20", "i < 30")), build=None), "the old program: ./app: no such program")

    def test_a_program_that_fails_by_itself_may_be_put_right(self):
        self.write("src/app.cu", SOURCE.replace("return 0;", "return 3;"))
        as_before = self.prove(self.diff(("i < 20", "i < 10 + 10")))
        self.assertIn("equal in all runs: exit status 3", as_before.stdout, as_before.stderr)
        put_right = self.prove(self.diff(("return 3;", "return 0;")))
        self.assertEqual(put_right.returncode, 1, put_right.stderr)
        self.assertIn("exit status 0 in new run 1, exit status 3 in the first", put_right.stdout)
        self.write("src/app.cu", SOURCE.replace("return 0;", "__builtin_trap();"))
        self.refused(self.prove(self.diff(("i < 20", "i < 10 + 10"))), "the old program fails, with signal")

    def test_a_program_without_cuda_has_no_finding(self):
        self.refused(self.prove(self.diff(("i < 20", "i < 30")), build=None, command=("true",)), "no process of the old program entered CUDA")

    def test_a_folder_that_cmake_configured_for_the_original_is_not_used(self):
        self.write("build/CMakeCache.txt", f"# cache\nCMAKE_HOME_DIRECTORY:INTERNAL={self.tree}\n")
        self.write("build/app", "#!/bin/sh\n").chmod(0o755)
        diff = self.diff(("i < 20", "i < 10 + 10"))
        words = "CMake configured build for the original tree; configure a folder in the copy: --build 'cmake -B build-prove && "
        self.refused(self.prove(diff, build=None, command=("./build/app",)), "./build/app: " + words)
        self.refused(self.prove(diff, "--source-root", "..", build="make", inside="build"), words)
        self.refused(self.prove(diff, build="cd build && make"), "; copies lack build, which CMake configured for the original tree")
        own = self.prove(diff, build=f"mkdir build && {COMPILE} && mv app build", command=("./build/app",))
        self.assertEqual(own.returncode, 0, own.stderr)
        late = f"mkdir late && echo CMAKE_HOME_DIRECTORY:INTERNAL=$(cat origin) > late/CMakeCache.txt && {COMPILE}"
        self.write("origin", str(self.tree))
        self.refused(self.prove(diff, build=late), "CMake configured late for the original tree")
        self.write("CMakeCache.txt", f"CMAKE_HOME_DIRECTORY:INTERNAL={self.tree}\n")
        self.refused(self.prove(diff), "CMake has configured the sources in their own folder")

    def test_absolute_names_in_the_original_tree_are_refused(self):
        diff = self.diff(("i < 20", "i < 30"))
        subprocess.run(COMPILE, shell=True, cwd=self.tree, check=True)
        for command in ((self.tree / "app",), ("./app", f"--out={self.tree}/out"), ("env", self.tree / "src/../app")):
            self.refused(self.prove(diff, command=command), f"names the original tree, {self.tree}, but copies are built and run")
        self.refused(self.prove(diff, build=f"c++ -I{self.tree}/src src/app.cu"), "names the original tree")
        self.refused(self.prove(diff, build=None, command=("app",), PATH=f"{self.tree}:{os.environ['PATH']}"), "a program of the original tree")

    def test_links_stay_links_and_lead_nowhere_into_the_original(self):
        (self.folder / "data").write_text("beside")
        (self.tree / "within").symlink_to("src/app.cu")
        (self.tree / "beside").symlink_to("../data")
        self.write(".git/HEAD", "ref: refs/heads/main\n")
        diff = self.diff(("i < 20", "i < 10 + 10"))
        outcome = self.prove(diff, "--keep", self.folder / "kept", command=("sh", "-c", "cat beside; ./app"))
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        kept = self.folder / "kept/new"
        self.assertEqual((kept / "within").readlink(), Path("src/app.cu"))
        self.assertEqual((kept / "beside").read_text(), "beside")
        self.assertEqual({path.name for path in kept.iterdir()}, {"src", "within", "beside", "app"})
        self.assertTrue((self.folder / "kept/old.umtrace").exists())
        self.refused(self.prove(diff, "--keep", self.folder / "kept"), "is there and not empty")
        self.refused(self.prove(diff, "--keep", self.tree / "kept"), "is in the tree that is copied")
        self.assertFalse((self.tree / "kept").exists())
        (self.tree / "across").symlink_to(self.tree / "src")
        self.refused(self.prove(diff), f"across: is a link to {self.tree}/src, by which the copy would lead into the original tree")
        (self.tree / "across").unlink()
        os.mkfifo(self.tree / "pipe")
        self.refused(self.prove(diff), "pipe: is no file, folder or link")
        (self.tree / "pipe").unlink()
        with open(self.tree / "large", "w") as large:
            large.truncate(3 << 30)
        self.refused(self.prove(diff), f"{self.tree} has more than 2 GiB, too much to copy")

    def test_a_tree_that_was_built_already_is_built_where_it_changes(self):
        self.write("Makefile", f"all: app other\napp: src/app.cu\n\t{COMPILE}\nother: Makefile\n\ttouch other\n")
        subprocess.run(["make"], cwd=self.tree, check=True, stdout=subprocess.DEVNULL)
        diff = self.diff(("i < 20", "i < 10 + 10"))
        outcome = self.prove(diff, "--keep", self.folder / "kept", build="make")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertEqual((self.folder / "kept/new/other").stat().st_mtime_ns, (self.tree / "other").stat().st_mtime_ns)
        for name in ("old", "new"):  # of the same files, which had been compiled with other options
            self.assertEqual((self.folder / f"kept/{name}-build.log").read_text().splitlines(), [COMPILE])

    def test_what_is_compiled_from_the_original_is_refused(self):
        self.write("origin", str(self.tree))
        outcome = self.prove(self.diff(("i < 20", "i < 30")), build=COMPILE.replace("src/app.cu", "$(cat origin)/src/app.cu"))
        self.refused(outcome, f"the old program was not built from its copy: app was compiled from {self.tree}/src/app.cu")

    def test_libraries_of_the_original_are_refused(self):
        library = self.tree / "lib/libcudart.so.13"
        library.parent.mkdir()
        library.write_bytes((LIBRARIES / "libcudart.so").read_bytes())
        outcome = self.prove(self.diff(("i < 20", "i < 30")), LD_LIBRARY_PATH=f"{library.parent}:{LIBRARIES}")
        self.refused(outcome, f"the old program loads {library} of the original tree")

    def test_python_is_imported_from_the_copy(self):
        self.write("main.py", SCRIPT)
        self.write("package/work.py", WORK)
        diff = self.diff(("1 << 20", "2 << 20"), file="package/work.py")
        command = (sys.executable, "main.py")
        installed = self.prove(diff, build=None, command=command, PYTHONPATH=str(self.tree / "package"))
        self.refused(installed, f"the old program imports {self.tree}/package/work.py of the original tree")
        own = self.prove(diff, build=None, command=("env", "PYTHONPATH=package", *command))
        self.assertIn("; changes no output", own.stdout, own.stderr)

    def test_an_environment_of_python_is_no_part_of_the_tree(self):
        self.write("venv/pyvenv.cfg", "home = /usr/bin\n")
        (self.tree / "venv/bin").mkdir()
        (self.tree / "venv/bin/python").symlink_to(sys.executable)
        version = subprocess.run([sys.executable, "-c", "import sysconfig; print(sysconfig.get_python_version())"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.strip()
        self.write(f"venv/lib/python{version}/site-packages/work.py", WORK)
        self.write("main.py", SCRIPT)
        diff = self.diff(("work.copy()", "work.copy()  # once"), file="main.py")
        for command, path in ((("venv/bin/python", "main.py"), ""), (("python", "main.py"), f"{self.tree}/venv/bin:")):
            kept = self.folder / f"kept-{command[0].replace('/', '-')}"
            outcome = self.prove(diff, "--keep", kept, build=None, command=command, PATH=path + os.environ["PATH"])
            self.assertIn("; changes no output", outcome.stdout, outcome.stderr)
            self.assertEqual((kept / "new/venv").readlink(), self.tree / "venv")

    def test_the_working_directory_is_in_the_tree(self):
        outcome = self.prove(self.diff(("i < 20", "i < 30")), "--source-root", "src")
        self.refused(outcome, f"the working directory is not in {self.tree}/src")


if __name__ == "__main__":
    unittest.main()

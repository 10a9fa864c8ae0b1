"""The shell lines of docs/ci.md do what it says, on an example program with simcuda. What is built in them is there already."""

import json
import os
import re
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["UMADVISOR_BUILD"]).resolve()
TEXT = (ROOT / "docs/ci.md").read_text()


def block(heading):
    """The YAML below that heading."""
    return re.search(rf"^## {heading}$.*?^```yaml\n(.*?)^```$", TEXT, re.M | re.S)[1]


def github():
    return re.findall(r"^ +- run: (.*)$", block("GitHub"), re.M)


def gitlab():
    script = re.search(r"^  script:\n(.*?)^  \w", block("GitLab"), re.M | re.S)[1]
    lines = [textwrap.dedent(each).strip() for each in re.split(r"^    - ", script, flags=re.M)[1:]]
    return [each.removeprefix("|\n") for each in lines]


class Recipe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "build").mkdir()
        (self.folder / "ci").mkdir()
        self.build("pageable_copies")
        self.trusted = self.folder / "trusted"
        self.trusted.mkdir()
        (self.trusted / "umadvisor").symlink_to(BUILD / "bin/umadvisor")
        self.environment = {**os.environ, "PATH": f"{self.trusted}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(BUILD / "lib/simcuda"),
                            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}

    def build(self, example):
        """Another version of the program."""
        app = self.folder / "build/app"
        app.unlink(missing_ok=True)
        app.symlink_to(BUILD / "bin/sim" / example)

    def ran(self, line):
        return subprocess.run(["bash", "-eo", "pipefail", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def run_all(self, lines):
        """Up to the first that fails: its status."""
        lines = [each for each in lines if not each.startswith("cmake ")]
        self.assertGreaterEqual(len(lines), 4)
        for line in lines:
            done = self.ran(line)
            if done.returncode != 0:
                self.assertEqual(line, lines[-1], done.stderr)
                return done.returncode
        return 0

    def make_baseline(self):
        made = re.search(r"^    (umadvisor report --json .* > ci/umadvisor-baseline.json)$", TEXT, re.M)[1]
        recorded = re.search(r"^    (umadvisor run .*) ARGS$", TEXT, re.M)[1]
        for line in recorded, made:
            self.assertEqual(self.ran(line).returncode, 0)

    def check_recipe(self, lines):
        self.make_baseline()
        self.assertEqual(self.run_all(lines), 0)
        self.build("small_copies")
        self.assertEqual(self.run_all(lines), 3)

    def test_github(self):
        self.check_recipe(github())
        self.assertGreaterEqual(len(json.loads((self.folder / "umadvisor.sarif").read_text())["runs"][0]["results"]), 1)
        self.assertIn("small_copies", (self.folder / "summary.md").read_text())

    def test_gitlab(self):
        self.make_baseline()
        file = json.loads(self.ran("umadvisor report --json app.umtrace").stdout)["findings"][0]["line"]["file"]
        self.environment["CI_PROJECT_DIR"] = os.path.dirname(file)
        self.check_recipe(gitlab())
        entries = json.loads((self.folder / "umadvisor-quality.json").read_text())
        self.assertGreaterEqual(len(entries), 1)
        for each in entries:
            self.assertEqual(set(each), {"description", "check_name", "fingerprint", "severity", "location"})
            self.assertIn(each["severity"], {"major", "minor", "info"})
            self.assertEqual(each["location"]["path"], "small_copies.cu")
            self.assertGreater(each["location"]["lines"]["begin"], 0)
        self.assertEqual(len({each["fingerprint"] for each in entries}), len(entries))

    def test_a_cut_trace_does_not_pass(self):
        self.make_baseline()
        trace = self.folder / "app.umtrace"
        os.truncate(trace, 20480)  # most of what follows is empty
        self.assertEqual(self.ran(github()[-1]).returncode, 1)

    def test_what_is_suppressed_is_not_new(self):
        self.make_baseline()
        self.build("small_copies")
        self.assertEqual(self.run_all(github()), 3)
        (self.folder / "ci/umadvisor-suppressions.txt").write_text("".join(
            f"{each['rule']}\n" for each in json.loads(self.ran("umadvisor report --json app.umtrace").stdout)["findings"]))
        option = re.search(r"`umadvisor check (--suppressions \S+) \.\.\.`", TEXT)[1]
        self.assertEqual(self.ran(github()[-1] + " " + option).returncode, 0)


if __name__ == "__main__":
    unittest.main()

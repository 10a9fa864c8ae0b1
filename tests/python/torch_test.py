#!/usr/bin/env python3
"""The installed Python surface on a GPU: a PyTorch loop, its ranges and findings, a script that starts itself anew, and
pytest's plugin. Needs the wheel installed, PyTorch, pandas, pytest and a GPU."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import umadvisor

# A step fills the same 16 MiB of pageable memory anew, uploads them, computes, and waits for its loss.
LOOP = """
    import torch, umadvisor
    model = torch.nn.Linear(1024, 1024, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    @umadvisor.step("train")
    def train():
        host.add_(1e-3)
        optimizer.zero_grad()
        loss = model(host.to("cuda")).square().mean()  # the upload
        loss.backward()
        optimizer.step()
        return loss.item()

    host = torch.randn(4096, 1024)
"""


class Torch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.folder / "x.umtrace"

    def write(self, name, text):
        (self.folder / name).write_text(textwrap.dedent(LOOP) + textwrap.dedent(text))

    def run_in_folder(self, *command, status=0):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        print("$", os.path.basename(command[0]), *command[1:], "\n" + done.stdout + done.stderr, flush=True)
        self.assertEqual(done.returncode, status)
        return done.stdout

    def uploads(self, *options):
        """Uploads of 16 MiB; others are a few bytes."""
        copies = umadvisor.report(self.trace, *options).raw["copies"]
        return sum(each["bytes"] for each in copies if each["direction"] == "HtoD") // (16 << 20)

    def upload_line(self, name):
        lines = (self.folder / name).read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if "# the upload" in line)

    def test_a_loop_is_recorded_where_it_says_and_its_line_is_named(self):
        self.write("loop.py", """
            for _ in range(2):
                train()
            with umadvisor.record():
                for _ in range(12):
                    train()
            """)
        self.run_in_folder("umadvisor", "run", "-c", "cudaProfilerApi", "-o", "x.umtrace", "python", "loop.py")
        self.assertEqual(self.uploads(), 12)
        self.run_in_folder(sys.executable, "-m", "umadvisor", "run", "-f", "-o", "x.umtrace", "loop.py")
        self.assertEqual(self.uploads(), 14)
        self.assertEqual(self.uploads("--range", "record"), 12)
        self.run_in_folder("umadvisor", "report", "x.umtrace")

        report = umadvisor.report(self.trace)
        self.assertEqual({each["name"]: each["count"] for each in report.raw["ranges"]}, {"record": 1, "train": 14})
        upload = f"loop.py:{self.upload_line('loop.py')}"
        [pageable] = [each for each in report.findings if each.rule == "UMA-102"]
        self.assertIn(upload, str(pageable.line))
        table = report.to_pandas()
        print(table.to_string(), flush=True)
        self.assertEqual(list(table["rule"]), [each.rule for each in report.findings])

    def test_a_script_starts_itself_anew_and_computes_the_same(self):
        self.write("bare.py", """
            host.fill_(1)
            torch.nn.init.constant_(model.weight, 0.01)
            torch.nn.init.zeros_(model.bias)
            print([round(train(), 4) for _ in range(3)])
            """)
        (self.folder / "anew.py").write_text('import umadvisor\numadvisor.ensure_recorded("-q", "-o", "x.umtrace")\n' +
                                             (self.folder / "bare.py").read_text())
        bare = self.run_in_folder(sys.executable, "bare.py")
        self.assertEqual(self.run_in_folder(sys.executable, "anew.py"), bare)
        self.assertEqual(self.uploads(), 3)

    def test_pytest_fails_for_what_a_baseline_does_not_know(self):
        self.write("suite.py", """
            def test_uploads():
                for _ in range(12):
                    assert train() > 0

            def test_computes():
                assert model.weight.isfinite().all()
            """)
        pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "suite.py", "--umadvisor")
        self.assertIn(f"suite.py:{self.upload_line('suite.py')}", self.run_in_folder(*pytest, "--umadvisor-trace", "x.umtrace"))
        self.assertEqual(self.uploads("--range", "*::test_uploads"), 12)
        self.run_in_folder(*pytest, "--umadvisor-fail-on", "low", status=1)
        with_baseline = (*pytest, "--umadvisor-baseline", "known.json")
        self.run_in_folder(*with_baseline, "--umadvisor-update-baseline")
        self.assertIn("umadvisor: 0 new findings", self.run_in_folder(*with_baseline))


if __name__ == "__main__":
    unittest.main(verbosity=2)

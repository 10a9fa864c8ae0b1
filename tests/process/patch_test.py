"""`umadvisor patch`: the diff applies, the patched program compiles and prints the same, and the finding is gone."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from traces import ADVISOR, BUILD, environment

HEADERS = os.environ["UMADVISOR_CUDA_INCLUDE"]
SOURCE = """#include <cstdio>
#include <cuda_runtime.h>
#define CHECK(call) if ((call) != cudaSuccess) return 1

int main() {
    const size_t bytes = 8 << 20;
    float *stage = nullptr, *device = nullptr, last = 0;
    CHECK(cudaMalloc(&device, bytes));
    for (int i = 0; i < 50; ++i) {
        CHECK(cudaMallocHost(&stage, bytes));  // of each round
        stage[5] = i;
        CHECK(cudaMemcpy(device, stage, bytes, cudaMemcpyHostToDevice));
        CHECK(cudaFreeHost(stage));
    }
    CHECK(cudaMemcpy(&last, device + 5, sizeof last, cudaMemcpyDeviceToHost));
    std::printf("%g\\n", last);
}
"""


class Patch(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()
        self.source = self.folder / "src/app.cu"
        self.source.parent.mkdir()
        self.source.write_text(SOURCE)

    def recorded(self):
        """Builds the program, records it, and returns the trace and what it printed."""
        app, trace = self.folder / "app", self.folder / "app.umtrace"
        subprocess.run(["c++", "-g", "-x", "c++", f"-I{HEADERS}", "-o", app, self.source, f"-L{BUILD}/lib/simcuda", "-lcudart"],
                       check=True)
        ran = subprocess.run([ADVISOR, "run", "-q", "--no-calibrate", "-f", "-o", trace, "--", app], check=True, text=True,
                             stdout=subprocess.PIPE, env=environment())
        return trace, ran.stdout

    def patch(self, *arguments):
        return subprocess.run([ADVISOR, "patch", *arguments], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)

    def rules(self, trace):
        report = subprocess.run([ADVISOR, "report", "--json", trace], check=True, text=True, stdout=subprocess.PIPE).stdout
        return [finding["rule"] for finding in json.loads(report)["findings"]]

    def test_a_patch_applies_and_its_finding_goes(self):
        trace, printed = self.recorded()
        self.assertIn("UMA-407", self.rules(trace))
        made = self.patch("--only", "UMA-407", trace)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("UMA-407 host memory page-locked again and again, app.cu:10 in main(): saves about", made.stdout)
        subprocess.run(["patch", "-s", "-p1"], cwd=self.folder, input=made.stdout, text=True, check=True)
        self.assertIn("    CHECK(cudaMallocHost(&stage, bytes));  // of each round\n    for (int", self.source.read_text())
        patched, printed_now = self.recorded()
        self.assertEqual(printed_now, printed)
        self.assertNotIn("UMA-407", self.rules(patched))

    def test_what_is_not_patched_is_said(self):
        trace, _ = self.recorded()
        outside = self.patch("--only", "UMA-407", "--source-root", "/usr", trace)
        self.assertEqual((outside.returncode, outside.stdout), (1, ""))
        self.assertIn("is outside /usr (--source-root)", outside.stderr)
        none = self.patch("--only", "UMA-601", trace)
        self.assertEqual((none.returncode, none.stdout, none.stderr), (1, "", "umadvisor: there is no finding to patch\n"))
        beyond = self.patch("-n", "99", trace)
        self.assertEqual((beyond.returncode, beyond.stdout), (1, ""))
        os.utime(self.source)
        changed = self.patch("--only", "UMA-407", trace)
        self.assertEqual((changed.returncode, changed.stdout), (1, ""))
        self.assertIn("no patch for UMA-407 at app.cu:10 in main(): the source changed after the run", changed.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""What `cmake --install` puts in place works from there, and from where it is moved to. UMADVISOR_BUILD names the build."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["UMADVISOR_BUILD"])
MANUAL = ("man/man1/umadvisor.1.gz", "man/man7/libumadvisor.7.gz") if shutil.which("scdoc") else ()


class Install(unittest.TestCase):
    def check_shim(self, prefix):
        done = subprocess.run([prefix / "bin" / "umadvisor", "doctor"], cwd=prefix, capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib" / "simcuda")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        shim = done.stdout.split("shim", 1)[1].split("\n", 1)[0].strip()
        self.assertRegex(shim, rf"^{prefix}/lib.*/umadvisor/libumadvisor\.so$")

    def test_what_is_installed_can_be_moved(self):
        with tempfile.TemporaryDirectory() as folder:
            first, moved = Path(folder, "first"), Path(folder, "moved")
            subprocess.run(["cmake", "--install", BUILD, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
            self.check_shim(first)
            for name in ("doc/umadvisor/LICENSE", "bash-completion/completions/umadvisor", "zsh/site-functions/_umadvisor",
                         "fish/vendor_completions.d/umadvisor.fish", *MANUAL):
                self.assertGreater((first / "share" / name).stat().st_size, 500, name)
            first.rename(moved)
            self.check_shim(moved)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""A program that is linked for glibc 2.28 asks for nothing newer, and what it gets in place of it works. With chroots of older
releases tools/package --smoke tries the same on them."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

STUBS = Path(__file__).resolve().parents[2] / "cmake" / "old_glibc" / "stubs.py"
PROGRAM = r"""
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

struct Constructed {
    int value = 42;
    Constructed() { value += std::getenv("SET_BEFORE") != nullptr; }
} constructed; // by what start.c does

int main() {
    int caught = 0;
    try { // by _dl_find_object
        (void)std::filesystem::file_size("/not/there");
    } catch (const std::exception&) {
        ++caught;
    }
    std::thread([&] {
        try {
            (void)std::stoi("none");
        } catch (const std::invalid_argument&) {
            ++caught;
        }
    }).join();
    setenv("SET_HERE", "1", 1);
    bool seen = false; // environ is the same object as the library's
    for (char** each = environ; *each != nullptr; ++each)
        seen |= std::string(*each) == "SET_HERE=1";
    std::random_device numbers;
    const bool differ = numbers() != numbers() || numbers() != numbers();
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable condition;
    const auto begin = std::chrono::steady_clock::now();
    const bool timed_out = condition.wait_for(lock, std::chrono::milliseconds(50)) == std::cv_status::timeout;
    const auto waited = std::chrono::steady_clock::now() - begin;
    std::printf("%d %d %d %d %d %ju\n", constructed.value, caught, seen, differ,
                timed_out && waited >= std::chrono::milliseconds(45) && waited < std::chrono::seconds(30),
                std::uintmax_t(std::filesystem::file_size("four")));
}
"""


class OldGlibc(unittest.TestCase):
    prefix, emulator = "", ()

    @classmethod
    def setUpClass(cls):
        if not all(map(shutil.which, (cls.prefix + "g++", *cls.emulator[:1]))):
            raise unittest.SkipTest(f"no {cls.prefix}g++ or nothing that runs its programs")
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = Path(cls.scratch.name)
        subprocess.run([sys.executable, STUBS, "2.28", cls.folder, cls.prefix + "gcc"], check=True)

    def link(self, program, *options):
        (self.folder / "program.cpp").write_text(program)
        return subprocess.run([self.prefix + "g++", "-std=c++20", "-O1", "-o", self.folder / "program", self.folder / "program.cpp", *options],
                              capture_output=True, text=True)

    def link_for_old(self, program):
        return self.link(program, f"-L{self.folder}", "-static-libstdc++", "-static-libgcc",
                         "-Wl,--no-as-needed,-l:libpthread.so.0,-l:libdl.so.2,--as-needed")

    def newest(self):
        listing = subprocess.run(["readelf", "--dyn-syms", "-W", self.folder / "program"], check=True, capture_output=True, text=True).stdout
        return max(tuple(map(int, each.split("."))) for each in re.findall(r"@GLIBC_(2[\d.]*)", listing))

    def test_a_program_works_and_asks_for_nothing_newer(self):
        done = self.link(PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(self.newest(), (2, 28), "this system's own is no newer: the test shows nothing")
        done = self.link_for_old(PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(self.newest(), (2, 28))
        (self.folder / "four").write_text("four")
        done = subprocess.run([*self.emulator, self.folder / "program"], cwd=self.folder, env={**os.environ, "SET_BEFORE": "1"},
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "43 2 1 1 1 4\n"), done.stderr)

    def test_a_program_that_uses_something_newer_does_not_link(self):
        program = "#include <unistd.h>\nint main() { return closefrom(900), 0; }\n"  # of 2.34
        done = self.link(program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("undefined reference to `closefrom'", self.link_for_old(program).stderr)


class OldGlibcOfAarch64(OldGlibc):
    prefix, emulator = "aarch64-linux-gnu-", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")


if __name__ == "__main__":
    unittest.main()

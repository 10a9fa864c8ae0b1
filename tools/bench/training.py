"""The trace of a training run that never was, made from files of this machine, and what reports on traces cost."""

import os
import subprocess
import time

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROLES = ["torch/lib/libc10_cuda.so", "torch/lib/libtorch_cuda.so", "torch/lib/libtorch_cpu.so", "torch/lib/libtorch_python.so"]


class Build:
    """What results.write() wants to know of a bundle."""

    sim = True

    def commit(self):
        return subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True,
                              text=True, check=False).stdout.strip() or "unknown"


def largest_libraries(count):
    """Real files with code in them, the largest first, no two alike."""
    files = {path.resolve() for folder in ("/usr/lib", "/lib64", "/usr/lib64") for path in Path(folder).glob("**/*.so*")
             if path.is_file() and os.access(path, os.R_OK) and "icudata" not in path.name}
    libraries = [path for path in files if path.open("rb").read(4) == b"\x7fELF"]
    return sorted(libraries, key=lambda path: path.stat().st_size, reverse=True)[:count]


def make_trace(build, folder, events):
    objects = [folder / "app/extension.so"]
    objects += [folder / "site-packages" / role for role in ROLES] + [folder / "libpython3.11.so.1.0"]
    files = [build / "bin/umadvisor", *largest_libraries(len(objects) - 1)]
    if len(files) < len(objects):
        raise SystemExit("too few shared libraries on this machine")
    for link, file in zip(objects, files):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file)
    trace = folder / "training.umtrace"
    subprocess.run([build / "bin/training_trace", str(events), trace, *objects], check=True)
    return trace


class Cost:
    """Of one command: on the clock, of processor time (on a busy machine that is what it took), and of memory."""

    def __init__(self, command, cache, output=subprocess.DEVNULL):
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=output, env={**os.environ, "XDG_CACHE_HOME": str(cache)})
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{command[0]} ended with {process.returncode}")
        self.seconds = time.monotonic() - start
        self.processor_seconds = used.ru_utime + used.ru_stime
        self.resident_mib = used.ru_maxrss / 1024  # at most, with the pages of mapped files

"""Tools that watch the same run: each must collect what it collects without us, and the program must notice neither."""

import re
import shutil
from pathlib import Path

from .cases import require

NSYS_FOLDERS = ("/opt/nvidia/nsight-compute", "/opt/nvidia/nsight-systems", "/usr/local/cuda")


class NsightSystems:
    """nsys profile -t cuda. Where its report step is missing, what it collected is there all the same."""

    name = "Nsight Systems"

    def __init__(self):
        lying = [path for folder in NSYS_FOLDERS for path in sorted(Path(folder).glob("*/host/target-linux-x64/nsys"))]
        self.path = shutil.which("nsys") or next(iter(lying), None)

    def command(self, folder):
        return [self.path, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-o", folder / "nsys"]

    def confirm(self, folder):
        collected = [path for path in folder.glob("nsys*") if path.suffix in (".qdstrm", ".nsys-rep")]
        require(collected, "Nsight Systems collected nothing")
        return f"Nsight Systems collected {sum(path.stat().st_size for path in collected)} B"


class ComputeSanitizer:
    """compute-sanitizer memcheck, which must find nothing."""

    name = "compute-sanitizer"

    def __init__(self):
        self.path = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")

    def command(self, folder):
        return [self.path, "--tool", "memcheck", "--target-processes", "all", "--log-file", folder / "sanitizer.log"]

    def confirm(self, folder):
        logs = "".join(path.read_text(errors="replace") for path in folder.glob("sanitizer.log*"))
        found = re.findall(r"ERROR SUMMARY: (\d+) error", logs)
        require(found, f"compute-sanitizer left no summary: {logs.strip()[-160:]}")
        require(set(found) == {"0"}, f"compute-sanitizer found errors: {logs.strip()[-160:]}")
        return "compute-sanitizer found no error"


TOOLS = (NsightSystems(), ComputeSanitizer())

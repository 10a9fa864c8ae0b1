"""Where the programs lie. A bundle and a build folder have the same shape."""

import os
from pathlib import Path


class Bundle:
    """Paths of one bundle (or build folder) and the environment its programs run in."""

    def __init__(self, root, sim=False):
        self.root = Path(root).resolve()
        self.sim = sim

    @property
    def umadvisor(self):
        return self.root / "bin" / "umadvisor"

    def library(self, name):
        return self.root / "lib" / name

    def program(self, name, runtime="shared"):
        """An example or benchmark, built with the shared or the static runtime, for the GPU or for simcuda."""
        folder = "sim" if self.sim else "gpu"
        return self.root / "bin" / (folder if runtime == "shared" else f"{folder}-static") / name

    def test_program(self, name, source="cpp"):
        """A program of the process tests: those that ask the driver themselves run anywhere, CUDA sources are built for
        simcuda or the GPU."""
        folder = "gpu" if source == "cu" and not self.sim else "test-programs"
        return self.root / "bin" / folder / name

    def environment(self, **extra):
        """This process's environment without leftovers that would change a run, plus `extra`."""
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("UMADVISOR_", "CUPTI_COUNTS"))
                 and name not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")}
        if self.sim:
            clean["LD_LIBRARY_PATH"] = str(self.root / "lib" / "simcuda")
            # A card that a program can outgrow: oversubscribe does, the others stay far below.
            clean["SIMCUDA_CONFIG"] = "capacity=128M"
            # Prices are those of an H200, whatever this machine was calibrated to.
            clean["XDG_CONFIG_HOME"] = os.devnull
        return {**clean, **extra}

    def commit(self):
        """What the bundle was built from: UMADVISOR_COMMIT, the COMMIT file of a bundle, or git."""
        if os.environ.get("UMADVISOR_COMMIT"):
            return os.environ["UMADVISOR_COMMIT"]
        for folder in (self.root, Path(__file__).resolve().parents[3]):
            if (folder / "COMMIT").is_file():
                return (folder / "COMMIT").read_text().strip()
        from .process import run
        described = run(["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty"], {})
        return described.stdout.strip() or "unknown"

    def verdicts_commit(self):
        """The last commit that changed how verdicts are found: the VERDICTS_COMMIT file of a bundle, or git. What chooses
        the runs that score them is thus nobody's choice."""
        carried = self.root / "VERDICTS_COMMIT"
        if carried.is_file():
            return carried.read_text().strip()
        from .process import run
        git = ["git", "-C", str(Path(__file__).resolve().parents[3])]
        found = run([*git, "log", "-1", "--format=%H", "--", "analyzer/managed"], {})
        commit = found.stdout.strip() or run([*git, "rev-parse", "HEAD"], {}).stdout.strip()
        if not commit:
            raise RuntimeError("neither a VERDICTS_COMMIT file nor git says which commit changed the verdicts last")
        return commit

    def missing(self):
        """Files without which nothing here can run."""
        needed = [self.umadvisor, self.library("libumadvisor.so"), self.program("pingpong")]
        return [path for path in needed if not path.is_file()]

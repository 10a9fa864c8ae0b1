"""Random steps that allocate on a card that is nearly full, in two processes that take turns: none may fail for lack of memory
under --act that does not fail bare."""

import tempfile
from pathlib import Path

from .cases import require
from .process import run
from .results import figure

PROGRAM = "oom_steps"
MODE = "auto,reuse"
STEPS, SEED = 10_000, 3  # of these steps some are refused bare, too
TIME_LIMIT = 300
CONFIG = "capacity=64M,card="  # the simulated card, and the name under which processes share it


def steps(bundle, folder, act):
    """[(step, whether it failed for lack of memory)], and the text of the steps that went wrong otherwise."""
    extra = {"SIMCUDA_CONFIG": f"{CONFIG}{folder}/card-{'act' if act else 'bare'}"} if bundle.sim else {}
    command = [bundle.test_program(PROGRAM), STEPS, 64 if bundle.sim else 2048, SEED]
    if act:
        command = [bundle.umadvisor, "run", "-q", "--no-calibrate", "-f", "-o", folder / "run.umtrace", "--act", MODE, "--", *command]
    outcome = run(command, bundle.environment(**extra), TIME_LIMIT)
    require(outcome.status == 0, f"{'act' if act else 'bare'}: {outcome.explain()}")
    return [line.rsplit(" ", 1) for line in outcome.stdout.splitlines() if line.startswith("step ")]


def earlier(bundle, folder):
    """Steps that failed under --act and not bare, of how many that failed bare, of how many."""
    bare, acted = (steps(bundle, Path(folder), act) for act in (False, True))
    require([name for name, _ in bare] == [name for name, _ in acted], "the steps are not the same ones")
    return [name for (name, one), (_, other) in zip(bare, acted) if one == "done" and other != "done"], [
        name for name, one in bare if one != "done"], len(bare)


def measure(bundle, say):
    with tempfile.TemporaryDirectory(prefix="umadvisor-oom-") as folder:
        failed, refused, count = earlier(bundle, folder)
    say(f"{PROGRAM}: {len(failed)} of {count} steps failed under --act {MODE} and not bare, {len(refused)} bare"
        + (f": {'; '.join(failed[:3])}" if failed else ""))
    return [figure("oom.earlier", [len(failed)], "1"), figure("oom.refused", [len(refused)], "1")]

"""How long programs that are not umadvisor's take in the modes of --act that concern them: `umadvisor ab`, whole runs from
start to end."""

import json
import tempfile
import time
from pathlib import Path

from . import program_list
from .cases import require
from .nvcc import Nvcc
from .process import run

PART = "act-times"
RUNS = 15
TIME_LIMIT = 200  # seconds, for all runs of one program in one mode
DIFFERS = 4       # of ab: results differ, or vary by themselves, as times do that a program prints

MANAGED, COPIES = ("prefetch",), ("stage", "rewrite=all")
MODES = {"conjugateGradientUM": MANAGED, "conjugateGradientMultiBlockCG": MANAGED, "UnifiedMemoryStreams": MANAGED,
         "systemWideAtomics": MANAGED, "vectorAdd": COPIES, "conjugateGradient": COPIES, "conjugateGradientPrecond": COPIES,
         "mergeSort": COPIES, "scan": COPIES, "convolutionSeparable": COPIES, "cupy_pools.py managed": MANAGED,
         "cupy_loop.py": COPIES, "torch_managed.py": MANAGED, "torch_loop.py": COPIES}


def check_act_times(cases, bundle, advised, samples, texts, pace):
    """Returns a line for each program and mode whose names together hold one of `texts`: the ratio of the medians, above 1
    where it gained, and its interval."""
    with tempfile.TemporaryDirectory(prefix="umadvisor-times-") as folder:
        begun, lines = time.monotonic(), []
        for program in _programs(bundle, Path(folder), samples, texts):
            for mode in _modes(program.name, texts) or ("",):
                name = _row(program.name, mode)
                if program.why_not or time.monotonic() > begun + pace.last_start:
                    cases.not_run(PART, name, program.why_not or f"not reached within {pace.last_start:.0f} s")
                else:
                    cases.check(PART, name, lambda n=name, p=program, m=mode: _time(bundle, advised, n, p, m, lines))
    return lines


def _short(name):
    return name.rpartition("/")[2]


def _row(name, mode):
    return f"{name} --act {mode}"


def _modes(name, texts):
    return [mode for mode in MODES.get(_short(name), ()) if any(text in _row(name, mode) for text in texts)]


def _programs(bundle, folder, samples, texts):
    def wanted(name):
        return bool(_modes(name, texts))
    yield from program_list.sample_programs(bundle, samples, Nvcc.find(), folder, wanted)
    yield from sorted((each for each in program_list.python_programs(bundle) if wanted(each.name)),
                      key=lambda each: tuple(MODES).index(each.name))


def _time(bundle, advised, name, program, mode, lines):
    command = [bundle.umadvisor, "ab", "--json", "-n", RUNS, "--act", mode, "--", *program.command]
    outcome = run(command, bundle.environment(**program.environment, TMPDIR=str(advised.new_folder())), TIME_LIMIT,
                  program.folder)
    require(outcome.status in (0, DIFFERS), outcome.explain())
    answer = json.loads(outcome.stdout)
    ratio = answer["speed_ratio"]
    require(ratio, f"runs end differently: {'; '.join(answer['differences'])}")
    varying = "" if answer["equal"] else "; what it prints varies"
    lines.append({"program": name, "runs": answer["runs"], "bare_s": round(answer["bare"]["median_s"], 4),
                  "repaired_s": round(answer["repaired"]["median_s"], 4), "ratio": round(ratio["ratio"], 3),
                  "low": round(ratio["low"], 3), "high": round(ratio["high"], 3), "verdict": answer["verdict"]})
    return f"{answer['verdict']}: {ratio['ratio']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f}){varying}"

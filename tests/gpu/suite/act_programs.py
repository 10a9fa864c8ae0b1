"""Programs that are not umadvisor's, in each mode of --act: what they print and return is what they print and return bare.
They use managed memory or copy from pageable memory, and either print no times or check their results themselves."""

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from . import program_list
from .nvcc import Nvcc
from .programs import enter, judge
from .results import figure

PART = "act-programs"
MODES = ("prefetch", "rewrite=all", "stage", "auto,rewrite=all")

# What is tried where --filter names nothing else. Of NVIDIA's samples; the first four have managed memory.
SAMPLES = ("conjugateGradientUM", "conjugateGradientMultiBlockCG", "UnifiedMemoryStreams", "systemWideAtomics",
           "vectorAdd", "simpleDrvRuntime", "conjugateGradient", "conjugateGradientPrecond", "conjugateGradientCudaGraphs",
           "simpleCUBLAS", "simpleCUFFT", "cuSolverSp_LowlevelCholesky", "histogram", "mergeSort", "sortingNetworks",
           "scan", "convolutionSeparable", "transpose")
# By the names of their rows in the table of programs.
PYTHON = ("torch_loop.py", "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync torch_loop.py", "torch_graphs.py", "torch_managed.py",
          "cupy_pools.py default", "cupy_pools.py managed", "cupy_pools.py asynchronous", "cupy_loop.py")
COMPILED = ("blas_product -lcublas [shared]", "fft_round_trip -lcufft [shared]")


def check_act_programs(cases, bundle, advised, samples, texts, pace):
    """Returns the figures and one line for each program and mode; `texts` as of the part programs."""
    def wanted(name):
        return any(text in name for text in texts)
    with tempfile.TemporaryDirectory(prefix="umadvisor-act-") as folder, ThreadPoolExecutor(pace.at_once) as pool:
        begun = time.monotonic()
        waiting = [pool.submit(judge, each, bundle, advised, begun, pace)
                   for program in _programs(bundle, Path(folder), samples, texts) if wanted(program.name)
                   for each in ([program] if program.why_not else in_modes(program))]
        lines = [enter(cases, PART, each.result()) for each in waiting]
    verdicts = [line["result"] for line in lines if line["result"] != "not run"]
    return [figure("act.programs.total", [len(verdicts)], "1"),
            figure("act.programs.agree", [verdicts.count("agrees")], "1"), *lines]


def in_modes(program):
    # A program that is repaired is spared the driver's queue, unless a repair reads it.
    return [replace(program, name=f"{program.name} --act {mode}", acts=mode,
                    source=program.source if "auto" in mode else "") for mode in MODES]


def _programs(bundle, folder, samples, texts):
    """The long ones first: while they run, the others fill the gaps."""
    def named(name):
        return any(text and text in name for text in texts)
    nvcc = Nvcc.find()
    yield from (each for each in program_list.python_programs(bundle) if each.name in PYTHON or named(each.name))
    (folder / "own").mkdir()
    yield from (each for each in program_list.compiled_programs(bundle, nvcc, folder / "own") if each.name in COMPILED)
    yield from program_list.sample_programs(bundle, samples, nvcc, folder / "samples",
                                            lambda name: name.partition("/")[2] in SAMPLES or named(name))
    yield from (each for each in program_list.example_programs(bundle) if each.name.endswith("[shared]"))

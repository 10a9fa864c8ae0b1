"""The programs of the table: Python frameworks, tools beside us, examples, programs on CUDA's libraries, samples."""

import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import samples
from .examples import EXAMPLES, RUNTIMES
from .interplay import TOOLS
from .program import Program

SOURCES = Path(__file__).resolve().parents[1] / "programs"
ROOT = SOURCES.parents[2]
CORES = len(os.sched_getaffinity(0))

# name, arguments, environment; the program is a file of SOURCES
PYTHON = (
    ("torch_compiled.py", (), {}),
    ("torch_loop.py", (), {}),
    ("torch_loop.py", (), {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
    ("torch_loop.py", (), {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}),
    ("torch_graphs.py", (), {}),
    ("torch_graphs.py", (), {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
    ("torch_graphs.py", (), {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}),
    ("torch_workers.py", (), {}),
    ("torch_profiled.py", (), {}),
    ("torch_managed.py", (), {}),
    *(("cupy_pools.py", (pool,), {}) for pool in ("default", "managed", "asynchronous", "none")),
    ("cupy_sum.py", (), {}),
    ("cupy_loop.py", (), {}),
    ("jax_sum.py", (), {}),
    ("jax_steps.py", (), {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}),
    ("jax_steps.py", (), {"XLA_PYTHON_CLIENT_PREALLOCATE": "true", "XLA_PYTHON_CLIENT_MEM_FRACTION": ".02"}),
    ("numba_calls.py", (), {}),
)

# Launches that the traces must hold exactly, by a part of the kernel's name
KERNELS = {"torch_profiled.py": {"tanh": 20}, "torch_managed.py": {"add_one": 5}, "forked_workers": {"fill": 4}, "own_streams": {"advance": 300}}

# Source and what nvcc is given beside it; each is built with either runtime.
COMPILED = (("blas_product", ("-lcublas",)), ("fft_round_trip", ("-lcufft",)),
            ("own_streams", ("--default-stream=per-thread",)))

# Library names to be tried in turn; each found is preloaded before umadvisor and, in a second run, after it.
ALLOCATORS = (("jemalloc", ("libjemalloc.so.2", "libjemalloc.so")),
              ("tcmalloc", ("libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libtcmalloc.so")))


def example_programs(bundle):
    return [Program(f"{example.name} [{runtime}]", (bundle.program(example.program, runtime), *example.arguments))
            for example in EXAMPLES for runtime in RUNTIMES if example.expected_status(bundle) == 0] + [
        Program(f"forked_workers [{runtime}]", (bundle.program("forked_workers", runtime),), processes=4,
                kernels=KERNELS["forked_workers"]) for runtime in RUNTIMES]


def python_programs(bundle):
    for file, arguments, environment in PYTHON:
        module = file.partition("_")[0]
        why_not = ""
        if bundle.sim:
            why_not = "not run on simcuda"
        elif importlib.util.find_spec(module) is None:
            why_not = f"python3 here has no {module}"
        elif file == "torch_compiled.py" and importlib.util.find_spec("triton") is None:
            why_not = "python3 here has no triton"
        name = " ".join([*(f"{key}={value}" for key, value in environment.items()), file, *arguments])
        yield Program(name, (sys.executable, SOURCES / file, *arguments), environment=environment,
                      kernels=KERNELS.get(file, {}), source="queue" if file == "torch_managed.py" else "", why_not=why_not)


def compiled_programs(bundle, nvcc, folder):
    """Built here: the libraries they are linked with are this machine's."""
    why_not = "not run on simcuda" if bundle.sim else "" if nvcc else "no nvcc here"

    def make(entry, runtime):
        source, arguments = entry
        target = Path(folder) / f"{source}-{runtime}"
        problem = why_not or nvcc.compile([SOURCES / f"{source}.cu", f"-cudart={runtime}", f"-I{ROOT}", *arguments],
                                          target)
        return Program(f"{' '.join((source, *arguments))} [{runtime}]", (target,), processes=1,
                       kernels=KERNELS.get(source, {}), why_not=problem)
    entries = [(entry, runtime) for entry in COMPILED for runtime in RUNTIMES]
    with ThreadPoolExecutor(CORES) as pool:
        return list(pool.map(lambda pair: make(*pair), entries))


def interplay_programs(bundle):
    watched = [(name, bundle.program(name, runtime)) for name, runtime in
               (("vector_add_managed", "static"), ("pageable_copies", "shared"))]
    for tool in TOOLS:
        why_not = "not run on simcuda" if bundle.sim else "" if tool.path else "not installed here"
        for name, program in watched:
            yield Program(f"{name} under {tool.name}", (program,), tool=tool,
                          source="queue" if "managed" in name else "", why_not=why_not)
    for allocator, names in ALLOCATORS:
        path = _library(bundle, names)
        for order, preloads in (("before", ((path,), ())), ("after", ((), (path,)))):
            yield Program(f"pageable_copies with {allocator} preloaded {order} umadvisor", (watched[1][1],),
                          preloads=preloads, why_not="" if path else "not installed here")


def _library(bundle, names):
    """The first of these libraries that this system has or that was put into the bundle."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    known = {words[0]: words[-1] for words in map(str.split, listed.splitlines()) if "=>" in words}
    carried = {name: bundle.library(name) for name in names if bundle.library(name).is_file()}
    return next((found[name] for found in (known, carried) for name in names if name in found), None)


def sample_programs(bundle, root, nvcc, folder, wanted):
    why_not = "not run on simcuda" if bundle.sim else "" if nvcc else "no nvcc here"
    if not why_not and not (root and (root / "Samples").is_dir()):
        why_not = "no sources of them: --samples DIR"
    if why_not:
        yield Program("cuda-samples", (), why_not=why_not)
        return
    arguments = samples.argument_lists(root)
    for built in samples.build_all(root, folder, nvcc, CORES, lambda name: wanted(f"cuda-samples/{name}")):
        for words in arguments.get(built.name, [[]]):
            name = " ".join((f"cuda-samples/{built.name}", *words))
            if built.program is None:
                yield Program(f"cuda-samples/{built.name}", (), why_not=built.why_not)
                break
            yield Program(name, (f"./{built.name}", *words), folder=built.program.parent)

"""Builds a tree of NVIDIA's cuda-samples with nvcc alone, each sample in a folder of its own."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import cmake_sample

CHAPTERS = ("0_Introduction", "1_Utilities", "2_Concepts_and_Techniques", "4_CUDA_Libraries", "6_Performance")

# Shorter than by default: one kernel a size and kind of memory says as much about umadvisor as twenty.
ARGUMENTS = {"UnifiedMemoryPerf": ["-kernel-iterations=2"]}

# What CMake's own targets bring along.
BRINGS = {"CUDA::cusolver": ("CUDA::cublas", "CUDA::cusparse")}


@dataclass(frozen=True)
class Built:
    """A program to run, or the reason why there is none."""

    name: str
    program: Path = None
    why_not: str = ""


def build_all(root, target, nvcc, parallel, wanted):
    """Builds the wanted samples of CHAPTERS below `root` into `target`; yields one Built each, in order."""
    folders = [path.parent for chapter in CHAPTERS
               for path in sorted((Path(root) / "Samples" / chapter).glob("*/CMakeLists.txt"))
               if wanted(path.parent.name)]
    with ThreadPoolExecutor(parallel) as pool:
        yield from pool.map(lambda folder: _build(folder, Path(target), nvcc), folders)


def _build(folder, target, nvcc):
    try:
        return build(folder, target, nvcc)
    except Exception as error:  # one sample that cannot be read must not cost the others their row
        return Built(folder.name, why_not=f"{type(error).__name__}: {error}")


def build(folder, target, nvcc):
    sample = cmake_sample.read(folder, nvcc.toolkit)
    if sample is None:
        return Built(folder.name, why_not="its CMakeLists.txt builds no program")
    if sample.packages:
        return Built(sample.name, why_not=f"needs {' and '.join(sorted(sample.packages))}")
    place = target / sample.name
    place.mkdir(parents=True)
    why_not = nvcc.compile(arguments(sample, folder), place / sample.name)
    if not why_not and sample.device_image:
        source, image = sample.device_image
        why_not = nvcc.compile(["-fatbin", source], place / image)
    if why_not:
        return Built(sample.name, why_not=f"does not build here: {why_not}")
    _copy_files(sample, place)
    return Built(sample.name, place / sample.name)


def arguments(sample, folder):
    words = ["--extended-lambda", "-I", folder / "../../../Common"]
    words += [each for path in sample.includes for each in ("-I", folder / path)]
    words += ["-rdc=true"] if sample.separable else []
    words += ["-Xcompiler=-fopenmp"] if sample.openmp else []
    # CMake's CUDA::cudart is the shared runtime; without it nvcc links the static one.
    words += ["-cudart=shared"] if "CUDA::cudart" in sample.libraries else []
    names = {"CUDA::cuda_driver": "cuda", "OpenMP::OpenMP_CXX": "gomp"}
    wanted = [each for name in sample.libraries for each in (name, *BRINGS.get(name, ())) if name != "CUDA::cudart"]
    libraries = [names.get(name, name.removeprefix("CUDA::")) for name in wanted]
    return [*words, *(folder / source for source in sample.sources), *(f"-l{name}" for name in libraries)]


def _copy_files(sample, place):
    for path, below in sample.files:
        source, target = sample.folder / path, place / below
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.is_file():
            # A target without a suffix is a folder, as in CMake's own copying.
            target = target if target.suffix else target / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    data = sample.folder / "data"
    if data.is_dir():
        shutil.copytree(data, place / "data", dirs_exist_ok=True)


def argument_lists(root):
    """{sample: [arguments of one run, ...]} of the samples' own test_args.json."""
    path = Path(root) / "test_args.json"
    given = json.loads(path.read_text()) if path.is_file() else {}
    lists = {name: [each.get("args", []) for each in entry["runs"]] if "runs" in entry else [entry.get("args", [])]
             for name, entry in given.items()}
    return {**lists, **{name: [arguments] for name, arguments in ARGUMENTS.items()}}

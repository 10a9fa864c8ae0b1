"""What a sample's CMakeLists.txt says of its build, read without CMake: the machine may have none, and one sample whose
library is missing must not cost the others their build."""

import re
from dataclasses import dataclass, field
from pathlib import Path

# Packages that come with every toolkit or compiler. Another one is why a sample is not built.
PRESENT = {"CUDAToolkit", "OpenMP", "Threads"}

_COMMAND = re.compile(r"(\w+)\s*\(((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\)")


@dataclass
class Sample:
    """One executable of a samples repository."""

    folder: Path
    name: str = ""
    sources: list = field(default_factory=list)
    libraries: list = field(default_factory=list)      # as CMake names them: CUDA::cublas, pthread
    includes: list = field(default_factory=list)
    packages: set = field(default_factory=set)         # wanted, and not PRESENT
    openmp: bool = False
    separable: bool = False                            # relocatable device code
    device_image: tuple = ()                           # (source, file name) of a .fatbin beside the program
    files: list = field(default_factory=list)          # to copy beside the program: (path, target below it)


def read(folder, toolkit):
    """The sample in `folder`, or None where its CMakeLists.txt builds no program."""
    folder = Path(folder)
    sample = Sample(folder)
    variables = {"CMAKE_CURRENT_SOURCE_DIR": str(folder), "CMAKE_CURRENT_BINARY_DIR": "",
                 "CUDA_INCLUDE_DIR": str(toolkit / "include"), "NVJITLINK_LIB": "nvJitLink"}
    text = "\n".join(line for line in (folder / "CMakeLists.txt").read_text().splitlines()
                     if not line.lstrip().startswith("#"))
    for command, arguments in _COMMAND.findall(text):
        words = [_expand(word.strip('"'), variables) for word in re.findall(r'"[^"]*"|\S+', arguments)]
        _read_command(sample, command, words, variables)
    return sample if sample.name else None


def _expand(word, variables):
    word = re.sub(r"\$<TARGET_FILE_DIR:[^>]*>", "", word)
    return re.sub(r"\$\{(\w+)\}", lambda found: variables.get(found.group(1), found.group(0)), word)


def _read_command(sample, command, words, variables):
    if command == "find_package" and words[0] == "OpenMP":
        sample.openmp = True
    elif command == "find_package" and words[0] not in PRESENT:
        sample.packages.add(words[0])
    elif command == "add_executable" and not sample.name:
        sample.name, sample.sources = words[0], words[1:]
    elif command == "set" and words[0] in ("CUDA_FATBIN_FILE", "CUDA_KERNEL_SOURCE"):
        variables[words[0]] = words[1]
        if len({"CUDA_FATBIN_FILE", "CUDA_KERNEL_SOURCE"} & set(variables)) == 2:
            sample.device_image = (variables["CUDA_KERNEL_SOURCE"], Path(variables["CUDA_FATBIN_FILE"]).name)
    elif command in ("target_include_directories", "include_directories"):
        sample.includes += [word for word in words if word.startswith(("/", "../"))]
    elif command == "target_link_libraries":
        sample.libraries += [word for word in words[1:]
                             if word not in ("PUBLIC", "PRIVATE", "INTERFACE") and "$" not in word]
    elif command == "set_target_properties" and "CUDA_SEPARABLE_COMPILATION" in words:
        sample.separable = True
    elif command == "add_custom_command":
        _read_copies(sample, words)


def _read_copies(sample, words):
    """cmake -E copy_if_different FILE... TARGET and copy_directory FOLDER TARGET, as a step after the build."""
    for kind in ("copy_if_different", "copy_directory"):
        if kind in words:
            *paths, target = words[words.index(kind) + 1:]
            # What still holds a variable is of another system (a .dll beside the program) or a list to be globbed.
            sample.files += [(path, target.lstrip("/")) for path in paths if "$" not in path]

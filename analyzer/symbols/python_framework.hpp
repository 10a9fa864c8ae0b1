/// Which library's API a line of Python uses.
#pragma once

#include <cstdint>
#include <string>

namespace umadvisor::symbols {

enum class PythonFramework : std::uint8_t {
    none, ///< or one that uses CUDA's own names: PyCUDA, cuda-python, ctypes
    torch,
    cupy,
    jax,
    numba, ///< CUDA's own names hold, too, where there are no others
};

/// Of the path of a loaded object or of a Python file.
PythonFramework framework_of(const std::string& path);

} // namespace umadvisor::symbols

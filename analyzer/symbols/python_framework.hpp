/// Which library's API a line of Python uses.
#pragma once

#include "analyzer/ids/stack_id.hpp"

#include <cstdint>
#include <string>

namespace umadvisor::reader {
class Dictionary;
}

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

/// Which the Python code called whose call is at this stack, as far as file names decide; none outside Python.
PythonFramework framework_at(const reader::Dictionary& dictionary, ids::StackId stack);

} // namespace umadvisor::symbols

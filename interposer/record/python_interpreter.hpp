/// The Python interpreter of the process, if there is one. Nothing is linked: its functions are looked up.
#pragma once

#include "interposer/record/python_layout.hpp"

#include <cstdint>

namespace umadvisor::record {

/// Functions that neither take nor need the GIL, and the addresses by which objects are known.
struct PythonInterpreter {
    void* (*this_thread)(); ///< PyGILState_GetThisThreadState: null if the thread has no Python state
    void* (*attached)(); ///< the thread state that holds the GIL, from 3.12 on this thread's; null: none does
    int (*finalizing)(); ///< whether it is being shut down
    std::uintptr_t code_type, text_type, bytes_type;
    PythonLayout layout;
    char implementation[64]; ///< "CPython 3.11.2"
    std::uint64_t module;    ///< Module record of the object it lies in
};

enum class PythonFound : std::uint8_t { nothing, unreadable, readable };

/// Looks for an interpreter among the loaded objects. `trouble`: why it cannot be read. Locks the loader, so it
/// may be called only where the program expects that.
PythonFound find_python(PythonInterpreter& interpreter, const char*& trouble) noexcept;

} // namespace umadvisor::record

/// Whose code a frame is, and which frame of a stack is shown first.
#pragma once

#include "analyzer/symbols/code_place.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace umadvisor::symbols {

enum class Owner : std::uint8_t {
    program,
    entry,       ///< CUDA's entry points: what they call is not the program's code either, whatever its name
    runtime,     ///< CUDA's, C's, C++'s, Rust's, ours
    framework,   ///< PyTorch's, CuPy's, cuBLAS's, ...: or hidden by the user
    interpreter, ///< CPython's C code
};

/// The table of known_code.def, and before it what the user wants hidden or shown. Remembers what it was asked.
/// Not thread-safe.
class Ownership {
public:
    /// Globs (fnmatch(3), no flags) on a frame's module, file or function, or on the file name of the first
    /// two. `show` goes before `hide`.
    explicit Ownership(std::vector<std::string> hide = {}, std::vector<std::string> show = {});

    Owner of(const CodePlace& place) const;

private:
    std::vector<std::string> hide_, show_;
    mutable std::unordered_map<std::string, Owner> modules_, functions_, files_;
};

/// Finds the line to show while a stack is gone through from its innermost frame on: the first frame that is
/// the program's own and that no entry point of CUDA follows soon, since a runtime that is linked into the
/// program has private functions whose names tell nothing. Where no frame is the program's own: the first that
/// is a framework's, else the innermost.
class LineChoice {
public:
    /// False: further frames would change nothing. Frames of either language, in the order of the stack.
    bool offer(const CodePlace& place, Owner owner);
    /// The choice so far; an empty place where nothing was offered.
    const CodePlace& line() const;

private:
    CodePlace innermost_, framework_, own_;
    bool any_ = false, framework_found_ = false, own_found_ = false;
    int frames_after_ = 0; ///< that are not inlined, since own_
};

/// LineChoice over a whole list, the innermost first.
CodePlace choose_line(std::span<const CodePlace> frames, const Ownership& ownership);

} // namespace umadvisor::symbols

/// Whose code a frame is, and which frame of a stack is shown first.
#pragma once

#include "analyzer/symbols/code_place.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace umadvisor::symbols {

enum class Owner : std::uint8_t {
    program,
    package,     ///< installed by pip or the like: a library of the program, or all that there is of it
    script,      ///< the console script of such a package
    entry,       ///< CUDA's entry points: what they call is not the program's code either, whatever its name
    runtime,     ///< CUDA's, C's, C++'s, Rust's, ours
    framework,   ///< PyTorch's, CuPy's, cuBLAS's, ...: or hidden by the user
    interpreter, ///< CPython's C code
};

/// Whether a user can change it: the program's own code, as far as the frame alone shows.
inline bool is_own(Owner owner) {
    return owner == Owner::program || owner == Owner::package || owner == Owner::script;
}

/// The table of known_code.def, and before it what the user wants hidden or shown. Remembers what it was asked.
/// Not thread-safe.
class Ownership {
public:
    /// Globs (fnmatch(3), no flags) on a frame's module, file or function, or on the file name of the first
    /// two. `show` goes before `hide`.
    explicit Ownership(std::vector<std::string> hide = {}, std::vector<std::string> show = {});

    Owner of(const CodePlace& place) const;
    /// What of() says of all frames of an object, whatever their functions: a framework's megabytes of symbols
    /// need no look then. Owner::program: that depends on the frame.
    Owner of_module(const std::string& module) const;

private:
    std::vector<std::string> hide_, show_;
    mutable std::unordered_map<std::string, Owner> modules_, functions_, files_;
};

/// Finds the frame to show while a stack is gone through from its innermost frame on: the first that is the
/// program's own and that no entry point of CUDA follows soon, since a runtime that is linked into the program
/// has private functions whose names do not show it. Where no frame is the program's own: the first of an
/// installed package, else of its console script, else of a framework, else the innermost.
class LineChoice {
public:
    struct Offer {
        Owner owner;
        bool inlined = false;
        bool unknown = false; ///< nothing but an address: shown only for want of a better one
    };
    /// False: further frames would change nothing. Frames of either language.
    bool offer(const Offer& frame);
    /// Number of the chosen frame among those offered.
    std::size_t index() const;

private:
    static constexpr std::size_t none = ~std::size_t{0};
    std::size_t offered_ = 0, own_ = none, package_ = none, script_ = none, framework_ = none;
    int frames_after_ = 0; ///< that are not inlined, since own_
};

/// LineChoice over a whole list, the innermost first.
CodePlace choose_line(std::span<const CodePlace> frames, const Ownership& ownership);

} // namespace umadvisor::symbols

/// Bringing managed memory to the side that is about to want it.
#pragma once

#include "interposer/act/reached.hpp"
#include "interposer/attach/entries.hpp"
#include "interposer/observe/touched.hpp"

namespace umadvisor::act {

/// A launch that is about to be made.
struct Launching {
    CUstream stream;     ///< explicit handle
    std::uint64_t stack; ///< id of the call stack
};

/// To the device: what the launch reaches, what that points to, and room for it.
void bring_to_device(const observe::Touched& touched, Launching launch) noexcept;

/// Before a launch: finds what it is the last to reach before the host, as is known, wants it.
void plan_return(const observe::Touched& touched, Launching launch) noexcept;
/// After it: sends that to the host behind it, unless it was not `launched`.
void return_behind(bool launched) noexcept;

/// To the host: what it has taken back after such a wait before. Returns when it is there.
void bring_home(const Wait& wait) noexcept;

} // namespace umadvisor::act

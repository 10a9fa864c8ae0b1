/// Bringing managed memory to the side that is about to want it.
#pragma once

#include "interposer/act/reached.hpp"
#include "interposer/attach/entries.hpp"
#include "interposer/observe/touched.hpp"

namespace umadvisor::act {

/// To the device: what a launch on `stream` (an explicit handle) reaches, what that points to, and room for it.
void bring_to_device(const observe::Touched& touched, CUstream stream) noexcept;

/// Before a launch on `stream`: finds what it is the last to reach before the host, as is known, wants it.
void plan_return(const observe::Touched& touched, CUstream stream) noexcept;
/// After it: sends that to the host behind it, unless it was not `launched`.
void return_behind(bool launched) noexcept;

/// To the host: what it has taken back after such a wait before. Returns when it is there.
void bring_home(const Wait& wait) noexcept;

} // namespace umadvisor::act

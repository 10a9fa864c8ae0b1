/// The one seat that CUPTI has in a process.
#pragma once

#include "interposer/observe/cupti_library.hpp"

namespace umadvisor::observe {

/// Takes the seat and switches all unified-memory counters on; records go to buffers from `requested`, which
/// come back to `completed`, in whatever thread. Null, or why not, and then the seat is free again: a text that
/// stays until the next call.
const char* take_cupti_seat(const CuptiLibrary& library, residency::cupti::BufferRequested requested,
                            residency::cupti::BufferCompleted completed) noexcept;

} // namespace umadvisor::observe

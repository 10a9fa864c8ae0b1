/// What the trace lacks because it could not be written.
#pragma once

#include "trace/layout.hpp"

#include <cstdint>

namespace umadvisor::record {

/// Of the trace that is written, or of the last one.
struct Losses {
    std::uint64_t records = 0;
    trace::DropReason reason{}; ///< of most of them
};

Losses losses() noexcept;

/// "the disk is full".
const char* words_of(trace::DropReason reason) noexcept;

} // namespace umadvisor::record

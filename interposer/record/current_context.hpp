/// The current context that the trace has for each thread.
#pragma once

#include "interposer/record/off_stack.hpp"

#include <cstdint>

namespace umadvisor::record {

struct CurrentContext {
    std::uint64_t context; ///< handle; 0: none
    std::uint64_t device;  ///< its ordinal
};

/// That of the calling thread.
inline CurrentContext& recorded_context() noexcept {
    return kept_of_thread<CurrentContext, Kept::context>();
}

} // namespace umadvisor::record

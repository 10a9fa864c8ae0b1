/// Pinned buffers that staged copies pass through, a ring for each context.
#pragma once

#include "interposer/act/stage_pool.hpp"
#include "interposer/attach/entries.hpp"
#include "policy/stage_plan.hpp"

#include <cstdint>

namespace umadvisor::act {

struct StageBuffer {
    char* at;       ///< pinned
    CUevent passed; ///< the device is done with it
    bool in_flight; ///< `passed` was recorded and has not been seen yet
    StageJob job;   ///< between the program's memory and `at`
};

/// Serves one copy at a time.
struct StageRing {
    StageBuffer buffers[policy::stage_buffers];
    std::size_t buffer_bytes; ///< of each
    std::uint64_t passed;     ///< bytes, since it was made or was to grow
    CUcontext context;
    std::uint64_t node;   ///< that its memory is to lie on (near_node.hpp)
    std::uint16_t number; ///< of the context (contexts.hpp); 0: free
    bool lent;
};

/// Bytes that will pass in this run, as far as an earlier one tells: rings that would grow are made large at
/// once. Before the first copy.
void expect_to_pass(std::uint64_t bytes) noexcept;

/// The ring of `context`, which is current; made at first, and larger once much has passed it or where rows of
/// `row` bytes need it. Null: it is in use by another copy, or every one is another context's, or rows do not
/// fit (`answer` is CUDA_SUCCESS), or the driver refused (its answer).
StageRing* borrow_ring(CUcontext context, std::uint64_t row, CUresult& answer) noexcept;
void return_ring(StageRing& ring) noexcept;

/// The context is gone, and what was made in it.
void forget_ring(std::uint16_t context_number) noexcept;

} // namespace umadvisor::act

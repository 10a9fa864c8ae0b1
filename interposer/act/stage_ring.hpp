/// Pinned buffers that staged copies pass through, a ring for each context.
///
/// Memory that the driver allocates for a thread lies on the NUMA node of that thread's CPU. A link between
/// nodes is narrower than the device's: what is ours lies on the device's side of it.
#pragma once

#include "interposer/act/stage_pool.hpp"
#include "interposer/attach/entries.hpp"
#include "policy/stage_plan.hpp"

#include <cstddef>
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
    std::uint64_t node;   ///< that its memory is to lie on
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

/// What the kernel is asked; tests put other answers in their place.
struct NodeCalls {
    const char* root; ///< files are looked for below it
    /// get_mempolicy(2) and set_mempolicy(2) of the calling thread.
    long (*get_policy)(int* mode, unsigned long* nodes, unsigned long bits);
    long (*set_policy)(int mode, const unsigned long* nodes, unsigned long bits);
};
extern constinit NodeCalls node_calls;

/// The host's node next to the current context's device, plus 1; 0: not known, or the host has only one (then
/// the driver is not asked). Calls open(2), a cancellation point, and changes errno.
std::uint64_t nearest_node() noexcept;

/// While it lives, what is allocated for the calling thread comes from `node` (plus 1; 0: does nothing) as long
/// as that has memory. Then the thread's own memory policy is back. Where the kernel refuses, as sandboxes do,
/// all is as without. Changes errno.
class NearNode {
public:
    explicit NearNode(std::uint64_t node) noexcept;
    ~NearNode();
    NearNode(const NearNode&) = delete;
    NearNode& operator=(const NearNode&) = delete;

private:
    static constexpr std::size_t most_nodes = 1024; ///< that Linux can be built for
    static constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
    using Nodes = unsigned long[most_nodes / word_bits];

    int former_mode_ = 0;
    Nodes former_nodes_{};
    bool changed_ = false;
};

} // namespace umadvisor::act

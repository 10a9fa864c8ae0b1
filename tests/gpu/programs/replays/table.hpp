#pragma once
// The sixteen programs, as they are and with the change that the named rules speak of.
#include "moves.hpp"
#include "rule_programs.hpp" // by tools/rule-pages
#include "waits.hpp"

namespace replays {

struct Program {
    const char* name;
    const char* rules; ///< whose findings are about the change, by commas; empty: it saves nothing
    std::size_t bytes;
    unsigned rounds;
    void (*before)(Trial&);
    void (*after)(Trial&);
    bool in_range = false; ///< records between cudaProfilerStart and cudaProfilerStop only
};

inline constexpr Program programs[] = {
    {"turns", "UMA-502", 0, 30, turns<false>, turns<true>},
    {"two-waits", "", 0, 30, two_waits<false>, two_waits<true>},
    {"waits-when-idle", "", 0, 30, waits_when_idle<false>, waits_when_idle<true>},
    {"long-queue", "UMA-502", 0, 6, long_queue<false>, long_queue<true>},
    {"pageable", "UMA-101", 32 * MiB, 10, pageable<false>, pageable<true>},
    {"small-copies", "UMA-103", 0, 10, small_copies<false>, small_copies<true>},
    {"one-stream", "UMA-109", 16 * MiB, 10, rules::uma_109::fault_one_stream,
     rules::uma_109::clean_four_streams},
    {"default-stream", "UMA-110", 16 * MiB, 10, rules::uma_110::fault_blocking,
     rules::uma_110::clean_non_blocking},
    {"reused-event", "UMA-502", 0, 30, reused_event<false>, reused_event<true>},
    {"free", "UMA-503", 4 * MiB, 20, rules::uma_503::fault_free, rules::uma_503::clean_free_at_the_end},
    {"two-threads", "", 0, 25, two_threads<false>, two_threads<true>},
    {"managed", "UMA-203", 64 * MiB, 6, rules::uma_203::fault_faults, rules::uma_203::clean_prefetched},
    {"before-a-graph", "UMA-101,UMA-102", 16 * MiB, 16, before_a_graph<false>, before_a_graph<true>},
    {"host-in-the-loop", "", 0, 30, host_in_the_loop<false>, host_in_the_loop<true>},
    {"beside-a-kernel", "", 0, 15, beside_a_kernel<false>, beside_a_kernel<true>},
    {"unrecorded", "", 0, 120, unrecorded<false>, unrecorded<true>, true},
};

} // namespace replays

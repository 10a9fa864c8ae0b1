#pragma once
// Every rule with a program that has the fault, its clean twin and one that nearly has it.
#include "allocation.hpp"
#include "contents.hpp"
#include "hazards.hpp"
#include "host_memory.hpp"
#include "memory.hpp"
#include "nodes.hpp"
#include "one_way.hpp"
#include "overlap.hpp"
#include "placement.hpp"
#include "prefetched.hpp"
#include "rounds.hpp"
#include "shared_memory.hpp"
#include "synchronisation.hpp"
#include "transfers.hpp"
#include "turns.hpp"

namespace rules {

struct Row {
    const char* rule; ///< that a "fault" deserves and the others do not
    const char* kind; ///< fault, clean, near
    const char* way;
    const char* also;  ///< rules, by comma, that hold as well and are no mistake
    std::size_t bytes; ///< 0: a 32nd of the device's memory
    unsigned rounds;
    void (*behave)(Trial&);
    const char* machine = ""; ///< that it takes, as SIMCUDA_CONFIG has it: rows of other keys than devices and
                              ///< host_nodes are for simcuda alone
};

inline constexpr const char* peers = "devices=2";
inline constexpr const char* strangers = "devices=2,peers=0";
inline constexpr const char* sockets = "host_nodes=2";
inline constexpr const char* one_pool = "memory=pool";
inline constexpr const char* cdmm = "memory=cdmm";
inline constexpr const char* small_card = "capacity=24M";
inline constexpr const char* card_of_pieces = "capacity=64M,contiguous=1";

/// What the fault costs is the time of its "fault" less that of its "clean" row.
inline constexpr Row table[] = {
    {"UMA-101", "fault", "pageable", "", 64 * MiB, 10, upload_pageable},
    {"UMA-101", "clean", "pinned", "", 64 * MiB, 10, upload_pinned},
    {"UMA-101", "near", "small", "", 4 * KiB, 10, upload_pageable_small},
    {"UMA-102", "fault", "pageable", "", 64 * MiB, 10, upload_pageable_async},
    {"UMA-102", "clean", "pinned", "", 64 * MiB, 10, upload_pinned_async},
    {"UMA-102", "near", "small", "", 4 * KiB, 10, upload_pageable_small},
    {"UMA-103", "fault", "pieces", "", 2 * MiB, 4, upload_small_pieces},
    {"UMA-103", "clean", "one-piece", "", 2 * MiB, 4, upload_one_piece},
    {"UMA-103", "near", "large-pieces", "", 2 * MiB, 4, upload_large_pieces},
    {"UMA-104", "fault", "column", "UMA-409", 256 * MiB, 8, upload_column},
    {"UMA-104", "clean", "contiguous", "", 256 * MiB, 8, upload_contiguous_rows},
    {"UMA-104", "near", "wide-rows", "", 256 * MiB, 8, upload_wide_rows},
    {"UMA-105", "fault", "host-buffer", "UMA-214", 64 * MiB, 8, copy_to_managed},
    {"UMA-105", "clean", "in-place", "UMA-205", 64 * MiB, 8, write_managed_in_place},
    {"UMA-105", "near", "device-snapshot", "UMA-214", 64 * MiB, 8, copy_managed_to_device},
    {"UMA-106", "fault", "every-step", "", 8 * MiB, 40, look_up<Table::uploaded_each_round>},
    {"UMA-106", "clean", "once", "", 8 * MiB, 40, look_up<Table::uploaded_once>},
    {"UMA-106", "near", "changed", "UMA-303", 8 * MiB, 40, look_up<Table::changed>},
    {"UMA-106", "near", "written", "UMA-114", 8 * MiB, 40, look_up<Table::written_by_kernel>},
    {"UMA-107", "fault", "unchanged", "UMA-109", 8 * MiB, 40, take_turns<Trip::unchanged>},
    {"UMA-107", "clean", "download", "", 8 * MiB, 40, take_turns<Trip::download_only>},
    {"UMA-107", "near", "changed", "UMA-109", 8 * MiB, 40, take_turns<Trip::changed>},
    {"UMA-108", "fault", "zeros", "", 8 * MiB, 40, begin_anew<Start::uploaded>},
    {"UMA-108", "clean", "memset", "", 8 * MiB, 40, begin_anew<Start::memory_set>},
    {"UMA-108", "near", "nearly", "UMA-114", 8 * MiB, 40, begin_anew<Start::nearly>},
    {"UMA-109", "fault", "one-stream", "UMA-107,UMA-505", 16 * MiB, 10, scramble_in_series},
    {"UMA-109", "clean", "four-streams", "UMA-505", 16 * MiB, 10, scramble_in_streams},
    {"UMA-109", "near", "one-way", "UMA-114", 16 * MiB, 10, upload_for_a_sum},
    {"UMA-109", "near", "host-steps", "UMA-108", 64 * KiB, 90, steps_by_the_host},
    {"UMA-110", "fault", "blocking", "UMA-505", 16 * MiB, 10, copy_on_blocking_streams},
    {"UMA-110", "clean", "non-blocking", "", 16 * MiB, 10, copy_on_free_streams},
    {"UMA-110", "near", "depends", "", 16 * MiB, 10, copy_around_a_kernel},
    {"UMA-111", "fault", "through-host", "UMA-108,UMA-409", 64 * MiB, 10, pass_through_host},
    {"UMA-111", "clean", "on-device", "UMA-409", 64 * MiB, 10, pass_on_device},
    {"UMA-111", "near", "thinned", "UMA-108", 64 * MiB, 10, thin_on_host},
    {"UMA-111", "fault", "peers-through-host", "UMA-108,UMA-409", 64 * MiB, 10, pass_to_peer_through_host,
     peers},
    {"UMA-111", "clean", "peer-copy", "UMA-409", 64 * MiB, 10, pass_to_peer_directly, peers},
    {"UMA-111", "near", "peers-thinned", "UMA-108,UMA-113", 64 * MiB, 10, thin_for_peer, peers},
    {"UMA-112", "fault", "each-round", "", 1 * KiB, 1000, count_each_round},
    {"UMA-112", "clean", "every-hundredth", "", 1 * KiB, 1000, count_every_hundredth},
    {"UMA-112", "near", "with-results", "UMA-103,UMA-119,UMA-409", 4 * KiB, 500, count_with_results},
    {"UMA-113", "fault", "pinned", "", 64 * MiB, 10, upload_from_far, sockets},
    {"UMA-113", "fault", "registered", "", 64 * MiB, 10, upload_registered_from_far, sockets},
    {"UMA-113", "clean", "near", "", 64 * MiB, 10, upload_from_near, sockets},
    {"UMA-113", "near", "pageable", "UMA-101", 64 * MiB, 10, upload_pageable_from_far, sockets},
    {"UMA-113", "near", "small", "", 64 * MiB, 10, upload_pieces_from_far, sockets},
    {"UMA-120", "fault", "without-access", "UMA-409", 64 * MiB, 10, pass_to_peer_without_access, peers},
    {"UMA-120", "clean", "with-access", "UMA-409", 64 * MiB, 10, pass_to_peer_with_access, peers},
    {"UMA-120", "near", "out-of-reach", "UMA-409", 64 * MiB, 10, pass_to_peer_without_access, strangers},
    {"UMA-121", "fault", "table", "", 64 * MiB, 20, add_host_table<HostTable::reread>},
    {"UMA-121", "clean", "copied", "", 64 * MiB, 20, add_host_table<HostTable::copied>},
    {"UMA-121", "near", "refilled", "UMA-505", 64 * MiB, 20, add_host_table<HostTable::refilled>},
    {"UMA-121", "near", "read-once", "", 64 * MiB, 20, add_host_table<HostTable::read_once>},
    {"UMA-122", "fault", "results", "", 64 * MiB, 20, make_host_results<HostResult::rewritten>},
    {"UMA-122", "clean", "downloaded", "UMA-409", 64 * MiB, 20, make_host_results<HostResult::downloaded>},
    {"UMA-122", "near", "read-each-round", "UMA-505", 64 * MiB, 20,
     make_host_results<HostResult::read_each_round>},
    {"UMA-123", "fault", "copied-out", "", 8 * MiB, 10, pass_combined<Combined::read>},
    {"UMA-123", "clean", "not-combined", "", 8 * MiB, 10, pass_combined<Combined::not_combined>},
    {"UMA-123", "near", "written", "", 8 * MiB, 10, pass_combined<Combined::written>},
    {"UMA-124", "fault", "copied", "", 64 * MiB, 8, copy_in_one_memory, one_pool},
    {"UMA-124", "clean", "shared", "", 64 * MiB, 8, share_one_memory, one_pool},
    {"UMA-124", "near", "little", "", 64 * MiB, 8, copy_little_in_one_memory, one_pool},

    {"UMA-201", "fault", "at-once", "UMA-202", 64 * KiB, 40, contend_for_pages},
    {"UMA-201", "clean", "on-host", "", 64 * KiB, 40, leave_pages_on_host},
    {"UMA-201", "near", "apart", "UMA-202", 64 * KiB, 40, take_pages_apart},
    {"UMA-202", "fault", "host-loop", "UMA-214", 32 * MiB, 10, ping_pong},
    {"UMA-202", "clean", "prefetched", "UMA-214", 32 * MiB, 10, ping_pong_prefetched},
    {"UMA-202", "near", "device-alone", "UMA-214", 32 * MiB, 10, device_alone},
    {"UMA-203", "fault", "faults", "", 64 * MiB, 6, first_touch},
    {"UMA-203", "clean", "prefetched", "", 64 * MiB, 6, first_touch_prefetched},
    {"UMA-203", "fault", "parts", "UMA-506", 64 * MiB, 2, first_touch_in_parts},
    {"UMA-203", "fault", "parts-no-wait", "", 64 * MiB, 2, first_touch_without_waits},
    {"UMA-203", "clean", "parts-prefetched", "UMA-506", 64 * MiB, 2, prefetched_in_parts},
    {"UMA-203", "near", "one-part", "UMA-506", 64 * MiB, 2, first_touch_of_one_part},
    {"UMA-203", "near", "device-filled", "UMA-410,UMA-214", 64 * MiB, 6, first_touch_on_device},
    {"UMA-204", "fault", "counted", "UMA-203,UMA-410", 64 * MiB, 6, populate_on_host},
    {"UMA-204", "clean", "device-filled", "UMA-410", 64 * MiB, 6, populate_on_device},
    {"UMA-204", "near", "data", "", 64 * MiB, 6, populate_with_data},
    {"UMA-205", "fault", "faults", "", 64 * MiB, 6, read_back},
    {"UMA-205", "clean", "prefetched", "", 64 * MiB, 6, read_back_prefetched},
    {"UMA-205", "near", "one-page", "", 64 * MiB, 6, read_back_one_page},
    {"UMA-206", "fault", "among-data", "UMA-214", 1 * MiB, 40, flag_among_data},
    {"UMA-206", "clean", "apart", "UMA-214", 1 * MiB, 40, flag_apart},
    {"UMA-206", "near", "page-of-its-own", "UMA-214", 1 * MiB, 40, flag_in_managed_page_of_its_own},
    {"UMA-207", "fault", "faults", "", 32 * MiB, 8, read_by_both},
    {"UMA-207", "clean", "read-mostly", "", 32 * MiB, 8, read_by_both_duplicated},
    {"UMA-207", "near", "changed", "UMA-202", 32 * MiB, 8, read_by_both_changed},
    {"UMA-208", "fault", "many", "", 64 * MiB, 16, read_remotely},
    {"UMA-208", "clean", "local", "", 64 * MiB, 16, read_locally},
    {"UMA-208", "near", "once", "", 64 * MiB, 16, read_remotely_once},
    {"UMA-209", "fault", "passes", "UMA-203,UMA-214", 256 * MiB, 6, pass_over_all, small_card},
    {"UMA-209", "clean", "pieces", "", 256 * MiB, 6, pass_over_pieces, small_card},
    {"UMA-209", "near", "fits", "UMA-214", 256 * MiB, 6, pass_over_what_fits, small_card},
    {"UMA-210", "fault", "there-and-back", "UMA-213,UMA-214", 64 * MiB, 10, prefetch_there_and_back},
    {"UMA-210", "clean", "once", "UMA-214", 64 * MiB, 10, prefetch_once},
    {"UMA-210", "near", "used-by-both", "UMA-214", 64 * MiB, 10, prefetch_for_both},
    {"UMA-211", "fault", "after", "UMA-203", 64 * MiB, 6, prefetch_after},
    {"UMA-211", "clean", "before", "", 64 * MiB, 6, prefetch_before},
    {"UMA-211", "near", "before-and-wait", "", 64 * MiB, 6, prefetch_before_and_wait},
    {"UMA-212", "fault", "resident", "UMA-214", 64 * MiB, 400, prefetch_what_is_there},
    {"UMA-212", "clean", "none", "UMA-214", 64 * MiB, 400, prefetch_nothing},
    {"UMA-212", "near", "gone-meanwhile", "UMA-214", 64 * MiB, 10, prefetch_what_left},
    {"UMA-213", "fault", "host-takes-it", "", 64 * MiB, 8, prefetch_unused},
    {"UMA-213", "clean", "none", "", 64 * MiB, 8, prefetch_not},
    {"UMA-213", "near", "used", "", 64 * MiB, 8, prefetch_used},
    {"UMA-214", "fault", "faults", "UMA-410,UMA-506", 64 * MiB, 6, populate_by_faults},
    {"UMA-214", "clean", "prefetched", "UMA-410,UMA-506", 64 * MiB, 6, populate_by_prefetch},
    {"UMA-214", "near", "memset", "UMA-506", 64 * MiB, 6, populate_by_memset},
    {"UMA-216", "fault", "heap", "", 16 * MiB, 1, prefetch_heap_to_device, cdmm},
    {"UMA-216", "clean", "managed", "", 16 * MiB, 1, prefetch_managed_instead, cdmm},
    {"UMA-216", "near", "to-host", "", 16 * MiB, 1, prefetch_heap_to_host, cdmm},
    {"UMA-217", "fault", "heap", "", 16 * MiB, 6, reach_heap, cdmm},
    {"UMA-217", "clean", "copied-once", "", 16 * MiB, 6, reach_copy_of_heap, cdmm},
    {"UMA-217", "near", "once", "", 16 * MiB, 6, reach_heap_once, cdmm},

    {"UMA-301", "fault", "both-at-once", "UMA-502", 0, 5, both_at_once},
    {"UMA-301", "clean", "one-at-a-time", "UMA-502,UMA-401", 0, 5, two_phases},
    {"UMA-301", "near", "in-turns", "UMA-502", 0, 5, both_in_turns},
    {"UMA-302", "fault", "beside", "UMA-502", 0, 5, one_after_the_other},
    {"UMA-302", "clean", "same-memory", "UMA-502", 0, 5, the_same_twice},
    {"UMA-302", "near", "still-read", "UMA-502", 0, 5, first_read_by_second},
    {"UMA-303", "fault", "upload", "UMA-114", 8 * MiB, 40, send_drafts<Draft::overwritten>},
    {"UMA-303", "clean", "upload", "UMA-106,UMA-114,UMA-406", 8 * MiB, 40, send_drafts<Draft::left_out>},
    {"UMA-303", "near", "used", "UMA-114", 8 * MiB, 40, send_drafts<Draft::used>},
    {"UMA-303", "fault", "memset", "UMA-409", 64 * MiB, 100, set_twice<Draft::overwritten>},
    {"UMA-303", "clean", "memset", "UMA-409", 64 * MiB, 100, set_twice<Draft::left_out>},

    {"UMA-401", "fault", "fresh", "UMA-506", 1 * KiB, 1000, scratch_fresh},
    {"UMA-401", "clean", "kept", "UMA-506", 1 * KiB, 1000, scratch_kept},
    {"UMA-401", "near", "from-pool", "UMA-506", 1 * KiB, 1000, scratch_from_pool},
    {"UMA-402", "fault", "beside", "UMA-502", 512 * MiB, 5, beside_unused},
    {"UMA-402", "clean", "without", "UMA-502", 512 * MiB, 5, used_alone},
    {"UMA-402", "near", "cleared", "UMA-502", 512 * MiB, 5, beside_cleared},
    {"UMA-403", "fault", "input-kept", "UMA-502", 0, 5, input_kept},
    {"UMA-403", "clean", "input-freed", "UMA-502,UMA-401", 0, 5, input_freed},
    {"UMA-403", "near", "still-read", "UMA-502", 0, 5, first_read_by_second},
    {"UMA-404", "fault", "every-round", "", 16 * MiB, 20, never_freed},
    {"UMA-404", "clean", "one-for-all", "", 16 * MiB, 20, one_for_all_rounds},
    {"UMA-404", "near", "all-in-use", "", 16 * MiB, 20, all_in_use},
    {"UMA-405", "fault", "stage", "UMA-107", 512 * MiB, 4, stage_too_large},
    {"UMA-405", "clean", "fits", "UMA-107", 512 * MiB, 4, stage_that_fits},
    {"UMA-405", "near", "mostly-used", "UMA-107,UMA-108", 512 * MiB, 4, stage_mostly_used},
    {"UMA-406", "fault", "table", "", 256 * MiB, 1, table_pinned},
    {"UMA-406", "clean", "heap", "", 256 * MiB, 1, table_on_the_heap},
    {"UMA-406", "near", "copied", "UMA-409", 256 * MiB, 1, table_copied},
    {"UMA-407", "fault", "every-round", "UMA-106,UMA-303", 64 * MiB, 10, locked_every_round},
    {"UMA-407", "clean", "once", "UMA-106,UMA-303", 64 * MiB, 10, locked_once},
    {"UMA-407", "near", "many", "UMA-106,UMA-409", 64 * MiB, 10, many_locked},
    {"UMA-408", "fault", "among-pieces", "", 16 * MiB, 1, whole_among_pieces, card_of_pieces},
    {"UMA-408", "clean", "before-pieces", "", 16 * MiB, 1, whole_before_pieces, card_of_pieces},
    {"UMA-408", "near", "full", "", 16 * MiB, 1, whole_beside_full, card_of_pieces},
    {"UMA-409", "fault", "locked", "", 256 * MiB, 1, fetched_to_locked},
    {"UMA-409", "clean", "heap", "", 256 * MiB, 1, fetched_to_heap},
    {"UMA-409", "near", "many-copies", "UMA-106,UMA-114,UMA-303", 64 * MiB, 40, pinned_table_copied_often},
    {"UMA-410", "fault", "fresh", "UMA-214,UMA-506", 64 * KiB, 1000, managed_scratch_fresh},
    {"UMA-410", "clean", "kept", "UMA-506", 64 * KiB, 1000, managed_scratch_kept},
    {"UMA-411", "fault", "made-anew", "UMA-506", 1 * KiB, 300, replay_steps<Exec::made_anew>},
    {"UMA-411", "clean", "updated", "UMA-506", 1 * KiB, 300, replay_steps<Exec::updated>},
    {"UMA-411", "near", "other-shape", "UMA-506", 1 * KiB, 100, replay_steps<Exec::of_other_shape>},
    {"UMA-413", "fault", "made-anew", "", 1 * KiB, 1000, streams_made_anew},
    {"UMA-413", "clean", "kept", "", 1 * KiB, 1000, streams_from_a_set},
    {"UMA-414", "fault", "given-back", "UMA-506", 128 * MiB, 100, scratch_of_rounds<Pooled::given_back>},
    {"UMA-414", "clean", "kept", "UMA-506", 128 * MiB, 100, scratch_of_rounds<Pooled::kept>},
    {"UMA-414", "near", "no-wait", "UMA-506", 128 * MiB, 100, scratch_of_rounds<Pooled::no_wait>},

    {"UMA-501", "fault", "every-step", "UMA-506", 1 * KiB, 500, checked_often},
    {"UMA-501", "clean", "once", "UMA-506", 1 * KiB, 500, checked_once},
    {"UMA-501", "near", "with-kernels", "UMA-506", 1 * KiB, 500, checked_each_kernel},
    {"UMA-502", "fault", "early", "", 1 * KiB, 50, waited_early},
    {"UMA-502", "clean", "never", "", 1 * KiB, 50, not_waited},
    {"UMA-502", "near", "at-leisure", "", 1 * KiB, 50, waited_at_leisure},
    {"UMA-503", "fault", "free", "", 4 * MiB, 20, freed_in_flight},
    {"UMA-503", "clean", "free-at-the-end", "", 4 * MiB, 20, freed_at_the_end},
    {"UMA-503", "near", "free-when-idle", "", 4 * MiB, 20, freed_when_idle},
    {"UMA-504", "fault", "all-the-time", "", 1 * KiB, 5, asked_all_the_time},
    {"UMA-504", "clean", "never", "", 1 * KiB, 5, asked_never},
    {"UMA-504", "near", "now-and-then", "", 1 * KiB, 5, asked_now_and_then},
    {"UMA-505", "fault", "turns", "", 512 * KiB, 50, results_in_turns},
    {"UMA-505", "clean", "side-by-side", "", 512 * KiB, 50, results_of_the_last},
    {"UMA-505", "near", "at-leisure", "", 512 * KiB, 50, results_at_leisure},
    {"UMA-507", "fault", "each-round", "", 1 * KiB, 2000, ask_each_round},
    {"UMA-507", "clean", "once", "", 1 * KiB, 2000, ask_once},
    {"UMA-507", "near", "now-and-then", "", 1 * KiB, 2000, ask_now_and_then},

    {"UMA-602", "fault", "refilled", "", 1 * MiB, 64, refill_in_flight},
    {"UMA-602", "clean", "event", "UMA-505", 1 * MiB, 12, refill_behind_event},
    {"UMA-602", "near", "two-buffers", "", 1 * MiB, 12, refill_two_in_turn},
    {"UMA-602", "near", "polled", "", 1 * MiB, 12, refill_when_polled},
    {"UMA-602", "near", "stream-wait", "UMA-505", 1 * MiB, 12, refill_behind_stream},
    {"UMA-602", "near", "called-back", "", 1 * MiB, 12, refill_when_called_back},
    {"UMA-602", "fault", "changed", "UMA-505", 1 * MiB, 64, change_in_flight},
    {"UMA-602", "clean", "changed-behind-wait", "UMA-505", 1 * MiB, 12, change_behind_wait},
    {"UMA-602", "near", "changed-when-polled", "", 1 * MiB, 12, change_when_polled},
    {"UMA-602", "near", "changed-when-called-back", "", 1 * MiB, 12, change_when_called_back},
    {"UMA-602", "near", "changed-when-another-waited", "", 1 * MiB, 12, change_when_another_waited},
    {"UMA-603", "fault", "other-stream", "", 4 * MiB, 12, free_elsewhere},
    {"UMA-603", "clean", "same-stream", "", 4 * MiB, 12, free_in_same_stream},
    {"UMA-603", "near", "behind-event", "", 4 * MiB, 12, free_behind_event},
    {"UMA-604", "fault", "unordered", "", 16 * MiB, 12, hand_over_unordered},
    {"UMA-604", "fault", "early-event", "", 16 * MiB, 12, hand_over_early_event},
    {"UMA-604", "clean", "event", "", 16 * MiB, 12, hand_over_by_event},
    {"UMA-604", "near", "host-waits", "", 16 * MiB, 12, hand_over_by_host},
    {"UMA-604", "near", "default-stream", "", 16 * MiB, 12, hand_over_by_default_stream},
    {"UMA-604", "near", "parts", "UMA-505", 16 * MiB, 10, scramble_in_streams},
};

} // namespace rules

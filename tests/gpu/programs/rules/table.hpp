#pragma once
// Every rule with a program that has the fault, its clean twin and one that nearly has it.
#include "allocation.hpp"
#include "managed.hpp"
#include "contents.hpp"
#include "synchronisation.hpp"
#include "transfers.hpp"

namespace rules {

struct Row {
    const char* rule; ///< that a "fault" deserves and the others do not
    const char* kind; ///< fault, clean, near
    const char* way;
    const char* also; ///< rules, by comma, that hold as well and are no mistake
    std::size_t bytes;
    unsigned rounds;
    void (*behave)(Trial&);
};

inline constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

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
    {"UMA-104", "fault", "column", "", 256 * MiB, 8, upload_column},
    {"UMA-104", "clean", "contiguous", "", 256 * MiB, 8, upload_contiguous_rows},
    {"UMA-104", "near", "wide-rows", "", 256 * MiB, 8, upload_wide_rows},
    {"UMA-105", "fault", "host-buffer", "", 64 * MiB, 8, copy_to_managed},
    {"UMA-105", "clean", "in-place", "UMA-204", 64 * MiB, 8, write_managed_in_place},
    {"UMA-105", "near", "device-snapshot", "", 64 * MiB, 8, copy_managed_to_device},

    {"UMA-202", "fault", "host-loop", "", 32 * MiB, 10, ping_pong},
    {"UMA-202", "clean", "prefetched", "", 32 * MiB, 10, ping_pong_prefetched},
    {"UMA-202", "near", "device-alone", "", 32 * MiB, 10, device_alone},
    {"UMA-203", "fault", "faults", "", 64 * MiB, 6, first_touch},
    {"UMA-203", "clean", "prefetched", "", 64 * MiB, 6, first_touch_prefetched},
    {"UMA-203", "near", "device-filled", "", 64 * MiB, 6, first_touch_on_device},
    {"UMA-204", "fault", "counted", "UMA-203", 64 * MiB, 6, populate_on_host},
    {"UMA-204", "clean", "device-filled", "", 64 * MiB, 6, populate_on_device},
    {"UMA-204", "near", "data", "", 64 * MiB, 6, populate_with_data},
    {"UMA-205", "fault", "faults", "", 64 * MiB, 6, read_back},
    {"UMA-205", "clean", "prefetched", "", 64 * MiB, 6, read_back_prefetched},
    {"UMA-205", "near", "one-page", "", 64 * MiB, 6, read_back_one_page},
    {"UMA-206", "fault", "among-data", "", 1 * MiB, 40, flag_among_data},
    {"UMA-206", "clean", "apart", "", 1 * MiB, 40, flag_apart},
    {"UMA-206", "near", "page-of-its-own", "", 1 * MiB, 40, flag_in_managed_page_of_its_own},
    {"UMA-207", "fault", "faults", "", 32 * MiB, 8, read_by_both},
    {"UMA-207", "clean", "read-mostly", "", 32 * MiB, 8, read_by_both_duplicated},
    {"UMA-207", "near", "changed", "UMA-202", 32 * MiB, 8, read_by_both_changed},
    {"UMA-208", "fault", "many", "", 64 * MiB, 16, read_remotely},
    {"UMA-208", "clean", "local", "", 64 * MiB, 16, read_locally},
    {"UMA-208", "near", "once", "", 64 * MiB, 16, read_remotely_once},
    {"UMA-210", "fault", "there-and-back", "UMA-213", 64 * MiB, 10, prefetch_there_and_back},
    {"UMA-210", "clean", "once", "", 64 * MiB, 10, prefetch_once},
    {"UMA-210", "near", "used-by-both", "", 64 * MiB, 10, prefetch_for_both},
    {"UMA-211", "fault", "after", "UMA-203", 64 * MiB, 6, prefetch_after},
    {"UMA-211", "clean", "before", "", 64 * MiB, 6, prefetch_before},
    {"UMA-211", "near", "before-and-wait", "", 64 * MiB, 6, prefetch_before_and_wait},
    {"UMA-212", "fault", "resident", "", 64 * MiB, 40, prefetch_what_is_there},
    {"UMA-212", "clean", "none", "", 64 * MiB, 40, prefetch_nothing},
    {"UMA-212", "near", "gone-meanwhile", "", 64 * MiB, 10, prefetch_what_left},
    {"UMA-213", "fault", "host-takes-it", "", 64 * MiB, 8, prefetch_unused},
    {"UMA-213", "clean", "none", "", 64 * MiB, 8, prefetch_not},
    {"UMA-213", "near", "used", "", 64 * MiB, 8, prefetch_used},

    {"UMA-401", "fault", "fresh", "", 1 * KiB, 1000, scratch_fresh},
    {"UMA-401", "clean", "kept", "", 1 * KiB, 1000, scratch_kept},
    {"UMA-401", "near", "from-pool", "", 1 * KiB, 1000, scratch_from_pool},
    {"UMA-106", "fault", "every-step", "", 8 * MiB, 40, look_up<Table::uploaded_each_round>},
    {"UMA-106", "clean", "once", "", 8 * MiB, 40, look_up<Table::uploaded_once>},
    {"UMA-106", "near", "changed", "UMA-303", 8 * MiB, 40, look_up<Table::changed>},
    {"UMA-106", "near", "written", "", 8 * MiB, 40, look_up<Table::written_by_kernel>},
    {"UMA-107", "fault", "unchanged", "", 8 * MiB, 40, take_turns<Trip::unchanged>},
    {"UMA-107", "clean", "download", "", 8 * MiB, 40, take_turns<Trip::download_only>},
    {"UMA-107", "near", "changed", "", 8 * MiB, 40, take_turns<Trip::changed>},
    {"UMA-108", "fault", "zeros", "", 8 * MiB, 40, begin_anew<Start::uploaded>},
    {"UMA-108", "clean", "memset", "", 8 * MiB, 40, begin_anew<Start::memory_set>},
    {"UMA-108", "near", "nearly", "", 8 * MiB, 40, begin_anew<Start::nearly>},
    {"UMA-303", "fault", "upload", "", 8 * MiB, 40, send_drafts<Draft::overwritten>},
    {"UMA-303", "clean", "upload", "", 8 * MiB, 40, send_drafts<Draft::left_out>},
    {"UMA-303", "near", "used", "", 8 * MiB, 40, send_drafts<Draft::used>},
    {"UMA-303", "fault", "memset", "", 64 * MiB, 100, set_twice<Draft::overwritten>},
    {"UMA-303", "clean", "memset", "", 64 * MiB, 100, set_twice<Draft::left_out>},

    {"UMA-501", "fault", "every-step", "", 1 * KiB, 500, checked_often},
    {"UMA-501", "clean", "once", "", 1 * KiB, 500, checked_once},
    {"UMA-501", "near", "with-kernels", "", 1 * KiB, 500, checked_each_kernel},
};

} // namespace rules

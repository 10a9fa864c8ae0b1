#pragma once
// Every rule with a program that has the fault, its clean twin and one that nearly has it.
#include "memory.hpp"
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

    {"UMA-301", "fault", "both-at-once", "", 128 * MiB, 5, both_at_once},
    {"UMA-301", "clean", "one-at-a-time", "", 128 * MiB, 5, two_phases},
    {"UMA-301", "near", "in-turns", "", 128 * MiB, 5, both_in_turns},
    {"UMA-302", "fault", "beside", "", 128 * MiB, 5, one_after_the_other},
    {"UMA-302", "clean", "same-memory", "", 128 * MiB, 5, the_same_twice},
    {"UMA-302", "near", "still-read", "", 128 * MiB, 5, first_read_by_second},
    {"UMA-402", "fault", "beside", "", 128 * MiB, 5, beside_unused},
    {"UMA-402", "clean", "without", "", 128 * MiB, 5, used_alone},
    {"UMA-402", "near", "cleared", "", 128 * MiB, 5, beside_cleared},
    {"UMA-403", "fault", "input-kept", "", 128 * MiB, 5, input_kept},
    {"UMA-403", "clean", "input-freed", "", 128 * MiB, 5, input_freed},
    {"UMA-403", "near", "still-read", "", 128 * MiB, 5, first_read_by_second},
    {"UMA-404", "fault", "every-round", "", 16 * MiB, 20, never_freed},
    {"UMA-404", "clean", "one-for-all", "", 16 * MiB, 20, one_for_all_rounds},
    {"UMA-404", "near", "all-in-use", "", 16 * MiB, 20, all_in_use},
    {"UMA-405", "fault", "stage", "", 128 * MiB, 4, stage_too_large},
    {"UMA-405", "clean", "fits", "", 128 * MiB, 4, stage_that_fits},
    {"UMA-405", "near", "mostly-used", "", 128 * MiB, 4, stage_mostly_used},
    {"UMA-406", "fault", "table", "", 256 * MiB, 1, table_pinned},
    {"UMA-406", "clean", "heap", "", 256 * MiB, 1, table_on_the_heap},
    {"UMA-406", "near", "copied", "", 256 * MiB, 1, table_copied},
    {"UMA-407", "fault", "every-round", "", 64 * MiB, 10, locked_every_round},
    {"UMA-407", "clean", "once", "", 64 * MiB, 10, locked_once},
    {"UMA-407", "near", "many", "", 64 * MiB, 10, many_locked},

    {"UMA-501", "fault", "every-step", "", 1 * KiB, 500, checked_often},
    {"UMA-501", "clean", "once", "", 1 * KiB, 500, checked_once},
    {"UMA-501", "near", "with-kernels", "", 1 * KiB, 500, checked_each_kernel},
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
};

} // namespace rules

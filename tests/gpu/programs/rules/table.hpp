#pragma once
// Every rule with a program that has the fault, its clean twin and one that nearly has it.
#include "overlap.hpp"
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

/// What the fault costs is the time of its "fault" less that of its "clean" row.
inline constexpr Row table[] = {
    {"UMA-101", "fault", "pageable", "", 64 * MiB, 10, upload_pageable},
    {"UMA-101", "clean", "pinned", "", 64 * MiB, 10, upload_pinned},
    {"UMA-101", "near", "small", "", 4 * KiB, 10, upload_pageable_small},
    {"UMA-102", "fault", "pageable", "", 64 * MiB, 10, upload_pageable_async},
    {"UMA-102", "clean", "pinned", "", 64 * MiB, 10, upload_pinned_async},
    {"UMA-102", "near", "small", "", 4 * KiB, 10, upload_pageable_small},

    {"UMA-109", "fault", "one-stream", "", 16 * MiB, 10, scramble_in_series},
    {"UMA-109", "clean", "four-streams", "", 16 * MiB, 10, scramble_in_streams},
    {"UMA-109", "near", "one-way", "", 16 * MiB, 10, upload_for_a_sum},
    {"UMA-109", "near", "host-steps", "", 64 * KiB, 90, steps_by_the_host},
    {"UMA-110", "fault", "blocking", "", 16 * MiB, 10, copy_on_blocking_streams},
    {"UMA-110", "clean", "non-blocking", "", 16 * MiB, 10, copy_on_free_streams},
    {"UMA-110", "near", "depends", "", 16 * MiB, 10, copy_around_a_kernel},
    {"UMA-111", "fault", "through-host", "", 64 * MiB, 10, pass_through_host},
    {"UMA-111", "clean", "on-device", "", 64 * MiB, 10, pass_on_device},
    {"UMA-111", "near", "thinned", "", 64 * MiB, 10, thin_on_host},
    {"UMA-112", "fault", "each-round", "", 1 * KiB, 1000, count_each_round},
    {"UMA-112", "clean", "every-hundredth", "", 1 * KiB, 1000, count_every_hundredth},
    {"UMA-112", "near", "with-results", "UMA-103", 4 * KiB, 500, count_with_results},

    {"UMA-501", "fault", "every-step", "", 1 * KiB, 500, checked_often},
    {"UMA-501", "clean", "once", "", 1 * KiB, 500, checked_once},
    {"UMA-501", "near", "with-kernels", "", 1 * KiB, 500, checked_each_kernel},
};

} // namespace rules

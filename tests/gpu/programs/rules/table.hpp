#pragma once
// Every rule with a program that has the fault, its clean twin and one that nearly has it.
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

    {"UMA-501", "fault", "every-step", "", 1 * KiB, 500, checked_often},
    {"UMA-501", "clean", "once", "", 1 * KiB, 500, checked_once},
    {"UMA-501", "near", "with-kernels", "", 1 * KiB, 500, checked_each_kernel},
};

} // namespace rules

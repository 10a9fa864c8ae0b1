#pragma once
// Every rule with a program that has the fault, its clean twin and one that nearly has it.
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

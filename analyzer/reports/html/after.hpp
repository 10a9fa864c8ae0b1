/// The "after" bar of the page: the run's time by cause when all findings are fixed.
#pragma once

#include "analyzer/reports/html/timeline/timeline.hpp"
#include "analyzer/timeline/spared.hpp"

#include <array>

namespace umadvisor::html {

struct After {
    std::array<double, causes> where{}; ///< of the main thread, nanoseconds by cause
    double added_ns = 0;                ///< that the remedies need
    double sum() const;                 ///< of both, without the start of CUDA
};

/// The replay gives the time saved in each call and in the code before it. Where there were page faults, the
/// saved time is charged to them first.
After after(const Timeline& timeline, const timeline::Spared& spared);

} // namespace umadvisor::html

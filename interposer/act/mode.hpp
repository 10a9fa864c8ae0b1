/// One of the things that --act lists.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/record/recorder.hpp"

#include <atomic>

namespace umadvisor::act {

struct Mode {
    static constexpr int max_failures = 8; ///< then it is off

    const char* name;
    std::atomic<bool> on{false};
    std::atomic<int> failures{0};

    /// An action failed. The program goes on as if it had not been tried.
    void fail(CUresult why) noexcept {
        if (failures.fetch_add(1, std::memory_order_relaxed) + 1 == max_failures && on.exchange(false))
            record::note("--act %s: switched off after %d failed actions, the last with CUresult %d", name,
                         max_failures, static_cast<int>(why));
    }
};

} // namespace umadvisor::act

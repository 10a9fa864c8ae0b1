#include "interposer/record/loader_use.hpp"

#include <atomic>
#include <ctime>

namespace umadvisor::record {
namespace {

constinit std::atomic<int> users{0}, forks{0};

constexpr int longest_use = 1000, longest_fork = 200; ///< in naps

void nap() noexcept {
    const timespec span{0, 100'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr); // sets no errno
}

} // namespace

bool LoaderUse::begin() noexcept {
    for (int naps = 0;; ++naps) {
        users.fetch_add(1);
        if (forks.load() == 0) [[likely]]
            return true;
        users.fetch_sub(1);
        if (naps == longest_fork)
            return false;
        nap();
    }
}

void LoaderUse::end() noexcept {
    users.fetch_sub(1);
}

void wait_for_loader_users() noexcept {
    forks.fetch_add(1);
    for (int naps = 0; users.load() != 0 && naps < longest_use; ++naps)
        nap();
}

void let_loader_users_in() noexcept {
    forks.fetch_sub(1);
}

void forget_loader_users() noexcept {
    users.store(0);
    forks.store(0);
}

} // namespace umadvisor::record

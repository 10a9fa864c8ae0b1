#include "interposer/record/loader_use.hpp"

#include <atomic>
#include <ctime>

namespace umadvisor::record {
namespace {

constinit std::atomic<int> users{0}, forks{0};

constexpr long nap_ns = 100'000, longest_fork_ns = 20'000'000;
/// On a busy machine a thread that holds the lock may be preempted for long.
constexpr long longest_use_ns = 3'000'000'000;

void nap() noexcept {
    const timespec span{0, nap_ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr); // sets no errno
}

} // namespace

bool LoaderUse::begin() noexcept {
    for (long waited_ns = 0;; waited_ns += nap_ns) {
        users.fetch_add(1);
        if (forks.load() == 0) [[likely]]
            return true;
        users.fetch_sub(1);
        if (waited_ns >= longest_fork_ns)
            return false;
        nap();
    }
}

void LoaderUse::end() noexcept {
    users.fetch_sub(1);
}

void wait_for_loader_users() noexcept {
    forks.fetch_add(1);
    for (long waited_ns = 0; users.load() != 0 && waited_ns < longest_use_ns; waited_ns += nap_ns)
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

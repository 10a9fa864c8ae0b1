#include "analyzer/timeline/jobs.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace umadvisor::timeline {
namespace {

/// Threads that may still be started.
std::atomic<int>& free_jobs() {
    static std::atomic<int> jobs{static_cast<int>(std::max(1u, std::thread::hardware_concurrency())) - 1};
    return jobs;
}

} // namespace

void set_jobs(unsigned most) {
    free_jobs() = static_cast<int>(std::max(1u, most)) - 1;
}

bool detail::take_job() {
    if (free_jobs().fetch_sub(1) > 0)
        return true;
    give_job_back();
    return false;
}

void detail::give_job_back() {
    ++free_jobs();
}

} // namespace umadvisor::timeline

/// Work beside the caller, where there are cores for it.
#pragma once

#include <future>
#include <system_error>
#include <utility>

namespace umadvisor::timeline {

/// From now on at most so many threads work at a time, the caller's own included; at least 1. Without a call,
/// as many as the process may run on (sched_getaffinity(2)). Call it before the first beside().
void set_jobs(unsigned most);

namespace detail {

/// One of the threads that may work at a time. False: all of them do.
bool take_job();
void give_job_back();

struct Job {
    Job() = default;
    Job(const Job&) = delete;
    ~Job() { give_job_back(); }
};

} // namespace detail

/// Runs `work` in a thread of its own if one is free, else in the caller's when that asks for the result. What
/// it returns and throws is the same either way. Thread-safe.
template <class Work>
auto beside(Work work) -> std::future<decltype(work())> {
    if (detail::take_job())
        try {
            return std::async(std::launch::async, [work] {
                const detail::Job job;
                return work();
            });
        } catch (const std::system_error&) { // the process may have no more threads
            detail::give_job_back();
        }
    return std::async(std::launch::deferred, std::move(work));
}

} // namespace umadvisor::timeline

#include "interposer/act/stage_pool.hpp"

#include "interposer/act/stage_plan.hpp"
#include "interposer/runtime/own_thread.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::act {

bool StagePool::start(unsigned threads) noexcept {
    unsigned started = 0;
    while (started < threads &&
           runtime::start_own_thread(&serve, "umadvisor-stage", this, runtime::Faults::taken))
        ++started;
    return started != 0;
}

void StagePool::put(StageJob& job) noexcept {
    job.taken = job.finished = 0;
    job.next = nullptr;
    pthread_mutex_lock(&mutex_);
    (first_ == nullptr ? first_ : last_->next) = &job;
    last_ = &job;
    pthread_mutex_unlock(&mutex_);
    pthread_cond_broadcast(&work_);
}

bool StagePool::finished(const StageJob& job) noexcept {
    pthread_mutex_lock(&mutex_);
    const bool finished = job.finished == job.bytes;
    pthread_mutex_unlock(&mutex_);
    return finished;
}

void StagePool::wait(const StageJob& job) noexcept {
    pthread_mutex_lock(&mutex_);
    while (job.finished != job.bytes)
        if (!copy_slice())
            pthread_cond_wait(&done_, &mutex_);
    pthread_mutex_unlock(&mutex_);
}

/// With the lock, which is not held while it copies: a touch of the program's memory may run its own code.
bool StagePool::copy_slice() noexcept {
    StageJob* const job = first_;
    if (job == nullptr)
        return false;
    const std::size_t offset = job->taken;
    const std::size_t bytes = std::min(stage_slice_bytes, job->bytes - offset);
    job->taken += bytes;
    if (job->taken == job->bytes)
        first_ = job->next;
    pthread_mutex_unlock(&mutex_);
    std::memcpy(job->to + offset, job->from + offset, bytes);
    pthread_mutex_lock(&mutex_);
    job->finished += bytes;
    if (job->finished == job->bytes)
        pthread_cond_broadcast(&done_);
    return true;
}

void* StagePool::serve(void* pool) noexcept {
    auto& self = *static_cast<StagePool*>(pool);
    pthread_mutex_lock(&self.mutex_);
    for (;;)
        if (!self.copy_slice())
            pthread_cond_wait(&self.work_, &self.mutex_);
}

} // namespace umadvisor::act

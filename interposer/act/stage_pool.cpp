#include "interposer/act/stage_pool.hpp"

#include "interposer/record/clock.hpp"
#include "interposer/runtime/own_thread.hpp"

#include <algorithm>
#include <atomic>

namespace umadvisor::act {

namespace {

/// A thread that sleeps takes some 10 us to wake, a quarter of the time in which a buffer passes.
constexpr std::uint64_t patience = 50'000; ///< nanoseconds

/// Whether `happened` is true before long.
template <class Happened>
bool spin(Happened&& happened) noexcept {
    for (const std::uint64_t until = record::monotonic_nanoseconds() + patience;;) {
        for (int i = 0; i < 64; ++i) {
            if (happened())
                return true;
#ifdef __x86_64__
            __builtin_ia32_pause();
#endif
        }
        if (record::monotonic_nanoseconds() > until)
            return false;
    }
}

} // namespace

bool StagePool::start(unsigned threads) noexcept {
    unsigned started = 0;
    while (started < threads &&
           runtime::start_own_thread(&serve, "umadvisor-stage", this, runtime::Faults::taken))
        ++started;
    return started != 0;
}

void StagePool::put(StageJob& job) noexcept {
    job.taken = 0;
    job.users = 1;
    job.next = nullptr;
    lock();
    if (first_ == nullptr)
        set_first(&job);
    else
        last_->next = &job;
    last_ = &job;
    wake(job);
    unlock();
}

/// Others look at it without the lock.
void StagePool::set_first(StageJob* job) noexcept {
    std::atomic_ref(first_).store(job);
}

void StagePool::wake(const StageJob& job) noexcept {
    pthread_cond_broadcast(&work_);
    if (job.manner.threads > policy::stage_few_threads)
        pthread_cond_broadcast(&work_for_all_);
}

void StagePool::rouse() noexcept {
    lock();
    pthread_cond_broadcast(&work_);
    unlock();
}

bool StagePool::finished(const StageJob& job) noexcept {
    return std::atomic_ref(const_cast<unsigned&>(job.users)).load() == 0;
}

void StagePool::wait(StageJob& job) noexcept {
    // Those put before it come first. A part of a later job would hold up what waits for this one.
    lock();
    while (first_ != nullptr && std::atomic_ref(job.taken).load() < job.bytes)
        take_part();
    unlock();
    if (spin([&] { return finished(job); }))
        return;
    lock();
    while (!finished(job))
        pthread_cond_wait(&done_, &mutex_);
    unlock();
}

namespace {

/// Bytes [offset, offset + bytes) of those that move.
void copy_part(const StageJob& job, std::size_t offset, std::size_t bytes) noexcept {
    const auto copy = job.manner.past_caches ? &copy_past_caches
                                             : [](char* to, const char* from, std::size_t length) noexcept {
                                                   std::memcpy(to, from, length);
                                               };
    if (job.width == 0)
        return copy(job.to + offset, job.from + offset, bytes);
    while (bytes != 0) {
        const std::size_t row = offset / job.width, at = offset % job.width;
        const std::size_t length = std::min(bytes, job.width - at);
        copy(job.to + row * job.to_pitch + at, job.from + row * job.from_pitch + at, length);
        offset += length;
        bytes -= length;
    }
}

} // namespace

/// In the first job, until nothing of it is left. With the lock, which is not held while it copies: a touch of
/// the program's memory may run its own code.
void StagePool::take_part() noexcept {
    StageJob& job = *first_;
    std::atomic_ref(job.users).fetch_add(1);
    unlock();
    for (std::size_t offset;
         (offset = std::atomic_ref(job.taken).fetch_add(policy::stage_slice_bytes)) < job.bytes;)
        copy_part(job, offset, std::min(policy::stage_slice_bytes, job.bytes - offset));
    lock();
    if (first_ == &job) {
        set_first(job.next);
        if (first_ != nullptr)
            wake(*first_);
        leave(job);
    }
    leave(job);
}

/// From then on the job may be gone.
void StagePool::leave(StageJob& job) noexcept {
    if (std::atomic_ref(job.users).fetch_sub(1) == 1)
        pthread_cond_broadcast(&done_);
}

void* StagePool::serve(void* pool) noexcept {
    auto& self = *static_cast<StagePool*>(pool);
    self.lock();
    const unsigned number = self.served_by_++;
    pthread_cond_t& work = number < policy::stage_few_threads ? self.work_ : self.work_for_all_;
    for (bool worked = false;;) {
        if (self.first_ != nullptr && number < self.first_->manner.threads) {
            self.take_part();
            worked = true;
        } else if (self.first_ == nullptr && worked) { // the next job of a copy is not long in coming
            self.unlock();
            worked = spin([&] { return std::atomic_ref(self.first_).load() != nullptr; });
            self.lock();
        } else {
            pthread_cond_wait(&work, &self.mutex_);
            worked = true; // or is about to
        }
    }
}

} // namespace umadvisor::act

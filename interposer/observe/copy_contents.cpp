#include "interposer/observe/copy_contents.hpp"

#include "interposer/observe/host_read.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/slow_path.hpp"
#include "interposer/runtime/options.hpp"

#include <ctime>

namespace umadvisor::observe {

namespace {

constexpr std::uint64_t share = 100;            ///< one part in so many of the run time
constexpr std::uint64_t bytes_a_nanosecond = 4; ///< hashed through the kernel, a cautious figure
constexpr std::uint64_t equal_before = 2;       ///< parts, before all bytes are worth a look

/// What this thread has worked: what others take from it meanwhile is not our cost.
std::uint64_t worked_nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

} // namespace

CopyContents& copy_contents() noexcept {
    static constinit CopyContents contents;
    return contents;
}

bool CopyContents::wanted(const trace::Copy& record) const noexcept {
    return runtime::options().hashing != runtime::Hashing::off && record.bytes != 0 && record.width == 0 &&
           record.captured == 0;
}

std::uint64_t CopyContents::budget(std::uint64_t now) const noexcept {
    return allowance_.load(std::memory_order_relaxed) + (now - started_) / share;
}

bool CopyContents::is_suspect(std::uint64_t device, std::uint64_t bytes, std::uint64_t part_hash) noexcept {
    Place& place = places_[(device ^ bytes) * 0x9e3779b97f4a7c15u >> 54];
    if (place.device != device || place.bytes != bytes)
        place = {device, bytes, 0, 0};
    place.equal += place.part_hash == part_hash;
    place.part_hash = part_hash;
    return place.equal >= equal_before;
}

trace::CopyContent CopyContents::hash(std::uint64_t host, std::uint64_t device, std::uint64_t bytes) noexcept {
    trace::CopyContent content;
    if (bytes <= HostBytes::small) {
        bytes_.hash_whole(content, host, bytes);
        content.part_hash = content.whole_hash;
        return content;
    }
    bytes_.hash_part(content, host, bytes);
    if (content.part_hash == 0)
        return content;
    const bool suspect = is_suspect(device, bytes, content.part_hash);
    if ((suspect || runtime::options().hashing == runtime::Hashing::full) &&
        on_wholes_ + bytes / bytes_a_nanosecond < budget(record::monotonic_nanoseconds()) / 4 * 3) {
        const std::uint64_t start = worked_nanoseconds();
        bytes_.hash_whole(content, host, bytes);
        on_wholes_ += worked_nanoseconds() - start;
    }
    return content;
}

trace::CopyContent CopyContents::look(std::uint64_t host, std::uint64_t device, std::uint64_t bytes) noexcept {
    const std::uint64_t now = record::monotonic_nanoseconds();
    if (started_ == 0)
        started_ = now;
    if (on_parts_ >= budget(now) / 4)
        return {};
    const std::uint64_t begin = record::now(), start = worked_nanoseconds(), before = on_wholes_;
    const record::SlowPath slow;
    const record::Quiet quiet;
    trace::CopyContent content;
    if (may_read_host(host, bytes))
        content = hash(host, device, bytes);
    on_parts_ += worked_nanoseconds() - start - (on_wholes_ - before);
    content.look_duration = record::now() - begin;
    return content;
}

void CopyContents::look_at_upload(trace::Copy& record) noexcept {
    const TryLock::Attempt attempt(lock_);
    if (attempt)
        record.content = look(record.source, record.destination, record.bytes);
}

template <class Gone>
void CopyContents::drop_waiting(const Gone& gone) noexcept {
    std::uint32_t kept = 0;
    const std::uint32_t count = waiting_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i)
        if (!gone(downloads_[i]))
            downloads_[kept++] = downloads_[i];
    waiting_.store(kept, std::memory_order_relaxed);
}

void CopyContents::forget_waiting() noexcept {
    const TryLock::Attempt attempt(lock_);
    if (attempt)
        drop_waiting([](const Waiting& download) { return download.thread == pthread_self(); });
}

void CopyContents::look_at_download(trace::Copy& record) noexcept {
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const std::uint64_t first = record.destination, last = first + record.bytes;
    // A synchronous call tells the thread of those before it, and they may be changed from then on.
    drop_waiting([&](const Waiting& before) {
        return (before.destination < last && first < before.destination + before.bytes) ||
               (record.asynchronous == 0 && before.thread == pthread_self());
    });
    if (record.asynchronous == 0 || record.destination_memory == trace::Memory::pageable) {
        record.content = look(record.destination, record.source, record.bytes);
        return;
    }
    std::uint32_t count = waiting_.load(std::memory_order_relaxed);
    if (count == most_waiting) { // the oldest may be of a thread that is gone
        drop_waiting([&](const Waiting& download) { return &download == downloads_; });
        --count;
    }
    downloads_[count] = {pthread_self(), record.start,       record.stream,
                         record.source,  record.destination, record.bytes};
    waiting_.store(count + 1, std::memory_order_relaxed);
    record.content_follows = 1;
}

void CopyContents::look_at_waiting(const trace::Sync& record) noexcept {
    using trace::SyncKind;
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const bool of_event = record.kind == SyncKind::event || record.kind == SyncKind::event_query;
    drop_waiting([&](const Waiting& download) {
        if (download.thread != pthread_self() || of_event)
            return download.thread == pthread_self();
        if (record.kind != SyncKind::context && download.stream != record.object)
            return false;
        trace::Content told;
        told.start = record::now();
        told.copy = download.copy;
        told.content = look(download.destination, download.source, download.bytes);
        if (told.content.part_hash != 0)
            record::write(told);
        return true;
    });
}

} // namespace umadvisor::observe

/// What the bytes are that copies carry between host and device, so that equal ones can be told.
#pragma once

#include "interposer/base/bounded_list.hpp"
#include "interposer/observe/host_bytes.hpp"
#include "interposer/observe/try_lock.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"

#include <atomic>
#include <cstdint>
#include <pthread.h>

namespace umadvisor::observe {

/// Looks at a part of the bytes, and at all of them where the part says that it may be worth it: at a place of
/// the device that was given or gave equal parts before. All of it within 1% of the run time after a first
/// allowance: a program that uploads once is not held up. Looks at nothing that reading might move or slow
/// down: managed memory, write-combined memory, mappings of devices. One dimension only. Whoever comes while
/// another thread looks goes on without. Page-locked sources of asynchronous uploads are looked at twice.
class CopyContents {
public:
    constexpr CopyContents() noexcept = default;

    /// What an upload is about to send. A branch or two for other copies. A synchronous one waits as
    /// before_sync() says.
    void before_copy(trace::Copy& record) noexcept {
        if (!uploads_.empty())
            look_again_before(record);
        if (is_upload(record) && wanted(record))
            look_at_upload(record);
    }

    /// The copy has succeeded: what a download brought. One that may still run is looked at by after_sync(), an
    /// upload that may still run by before_sync().
    void after_copy(trace::Copy& record) noexcept {
        if (is_download(record) && wanted(record))
            look_at_download(record);
        else if (record.asynchronous == 0 && !downloads_.empty())
            forget_waiting();
        else if (record.asynchronous != 0 && is_upload(record) && record.content.part_hash != 0)
            keep_upload(record);
    }

    /// The thread is about to wait: sources of its uploads that have changed since are told by Content records.
    /// Before the wait, and not after it: then the copy may still run, and that it does proves that nobody
    /// could know that it was done; and looking takes no time from a host that would wait in any case. One load
    /// when there are none.
    void before_sync(const trace::Sync& record) noexcept {
        if (!uploads_.empty())
            look_again_before(record);
    }

    /// The thread has waited, or asked: its downloads that are done now are told by Content records. What an
    /// event says of them is not known, and the program may change them from then on. Sources of its uploads
    /// that are done may change, too, and are not looked at again. Two loads when there are none.
    void after_sync(const trace::Sync& record) noexcept {
        if (!downloads_.empty())
            look_at_waiting(record);
        if (!uploads_.empty())
            forget_uploads(record);
    }

    /// Nanoseconds of the first allowance; tests give none or much.
    void set_allowance(std::uint64_t nanoseconds) noexcept { allowance_.store(nanoseconds); }

private:
    static constexpr std::uint32_t most_downloads = 64, most_uploads = 32, most_of_a_stream = 8;
    static constexpr std::uint32_t most_looks = 2; ///< at a source, after the first
    static constexpr std::uint64_t places = 1024;

    /// Bytes at a place of the device: how the parts of those that came and went compare.
    struct Place {
        std::uint64_t device, bytes, part_hash, equal;
    };

    /// A download that may still run.
    struct Waiting {
        pthread_t thread;
        std::uint64_t copy, stream, source, destination, bytes;
    };

    /// An asynchronous upload from page-locked memory that may still run.
    struct Upload {
        pthread_t thread;
        std::uint64_t copy, stream, source, bytes, allocation;
        std::uint64_t part_hash, whole_hash; ///< of the source before the call
        std::uint32_t looks;                 ///< since
    };

    static bool is_host(trace::Memory memory) noexcept {
        return memory == trace::Memory::pageable || memory == trace::Memory::pinned ||
               memory == trace::Memory::registered;
    }
    static bool is_upload(const trace::Copy& record) noexcept {
        return record.destination_memory == trace::Memory::device && is_host(record.source_memory);
    }
    static bool is_download(const trace::Copy& record) noexcept {
        return record.source_memory == trace::Memory::device && is_host(record.destination_memory);
    }
    bool wanted(const trace::Copy& record) const noexcept;
    void look_at_upload(trace::Copy& record) noexcept;
    void look_at_download(trace::Copy& record) noexcept;
    void look_at_waiting(const trace::Sync& record) noexcept;
    void forget_waiting() noexcept;
    void keep_upload(const trace::Copy& record) noexcept;
    void look_again_before(const trace::Copy& record) noexcept;
    void look_again_before(const trace::Sync& record) noexcept;
    void forget_uploads(const trace::Sync& record) noexcept;
    bool look_again(Upload& upload) noexcept;
    template <class Hash>
    trace::CopyContent look(std::uint64_t host, std::uint64_t bytes, const Hash& hash) noexcept;
    trace::CopyContent look(std::uint64_t host, std::uint64_t device, std::uint64_t bytes) noexcept;
    void hash_whole(trace::CopyContent& content, std::uint64_t host, std::uint64_t bytes) noexcept;
    trace::CopyContent hash_part(std::uint64_t host, std::uint64_t bytes) noexcept;
    trace::CopyContent hash(std::uint64_t host, std::uint64_t device, std::uint64_t bytes) noexcept;
    bool is_suspect(std::uint64_t device, std::uint64_t bytes, std::uint64_t part_hash) noexcept;
    std::uint64_t budget(std::uint64_t now) const noexcept;

    std::atomic<std::uint64_t> allowance_{20'000'000};

    TryLock lock_;                               ///< guards what follows
    std::uint64_t started_ = 0;                  ///< nanoseconds, CLOCK_MONOTONIC
    std::uint64_t on_parts_ = 0, on_wholes_ = 0; ///< worked: an eighth of the budget, three quarters
    std::uint64_t on_sources_ = 0;               ///< of both, on looking again: a sixteenth
    Place places_[places] = {};
    base::BoundedList<Waiting, most_downloads> downloads_;
    base::BoundedList<Upload, most_uploads> uploads_;
    HostBytes bytes_ = {};
};

CopyContents& copy_contents() noexcept;

} // namespace umadvisor::observe

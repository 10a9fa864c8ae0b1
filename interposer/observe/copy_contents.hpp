/// Hashes of the bytes that copies move between host and device, so that the analyzer finds equal ones.
#pragma once

#include "interposer/base/bounded_list.hpp"
#include "interposer/observe/budget.hpp"
#include "interposer/observe/host_bytes.hpp"
#include "interposer/observe/try_lock.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"

#include <cstdint>
#include <pthread.h>

namespace umadvisor::observe {

/// Hashes a part of the bytes, and all of them if equal parts were copied to or from the same device range
/// before. Where the part equals that of an earlier copy, at whatever address, it compares a few more places
/// with that one: others each time, so that many rounds cover much. Hashing takes at most 1% of the run time
/// after a first allowance, so a program that uploads once is not delayed. Memory that reading might migrate,
/// or that is slow to read, is left out: managed memory, write-combined memory, mappings of devices. So are
/// copies with gaps between their rows on the host, and copies that come while another thread hashes.
/// Page-locked sources of asynchronous uploads are hashed again later, to find changes during the copy.
///
/// Pageable sources are hashed after the call, which has read them: looking before it would be the first touch
/// of pages that the program has not touched, and would pay for them.
class CopyContents {
public:
    constexpr CopyContents() noexcept = default;

    /// Hashes what an upload from page-locked memory is about to send. A branch or two for other copies. A
    /// synchronous copy waits, so it does what before_sync() does, too. `span`: bytes on the host from the
    /// first to the end of the last.
    void before_copy(trace::Copy& record, std::uint64_t span) noexcept {
        if (!uploads_.empty())
            look_again_before(record);
        if (is_upload(record) && record.source_memory != trace::Memory::pageable && applies_to(record, span))
            look_at_upload(record);
    }

    /// The copy has succeeded: hashes what an upload from pageable memory has sent, and what a download
    /// brought. A download that may still run is left to after_sync(), an upload that may still run to
    /// before_sync().
    void after_copy(trace::Copy& record, std::uint64_t span) noexcept {
        if (is_upload(record) && record.source_memory == trace::Memory::pageable && applies_to(record, span))
            look_at_upload(record);
        if (is_download(record) && applies_to(record, span))
            look_at_download(record);
        else if (record.asynchronous == 0 && !downloads_.empty())
            forget_waiting();
        else if (record.asynchronous != 0 && is_upload(record) && record.content.part_hash != 0)
            keep_upload(record);
    }

    /// One copy of a batch, after the call: hashes what an upload has sent. Later changes of the source, and
    /// what downloads bring, are not followed: a Content record could not say to which copy of the batch it
    /// belongs.
    void after_part(trace::Copy& record, std::uint64_t span) noexcept {
        if (is_upload(record) && applies_to(record, span))
            look_at_upload(record);
    }

    /// The thread is about to wait: writes Content records for sources of its uploads that have changed since.
    /// This is done before the wait, when the copy may still run, since afterwards the program may change the
    /// source rightly; and hashing costs no time of a host that would wait in any case. One load without such
    /// uploads.
    void before_sync(const trace::Sync& record) noexcept {
        if (!uploads_.empty())
            look_again_before(record);
    }

    /// The thread has waited, or queried: writes Content records for its downloads that are complete now. It is
    /// not known which downloads an event covers, and the program may change them from then on, so they are
    /// dropped. So are its complete uploads, whose sources may change. Two loads without either.
    void after_sync(const trace::Sync& record) noexcept {
        if (!downloads_.empty())
            look_at_waiting(record);
        if (!uploads_.empty())
            forget_uploads(record);
    }

    /// Nanoseconds of the first allowance; tests give none or much.
    void set_allowance(std::uint64_t nanoseconds) noexcept { budget_.set_allowance(nanoseconds); }

private:
    static constexpr std::uint32_t most_downloads = 64, most_uploads = 32, most_of_a_stream = 8;
    static constexpr std::uint32_t most_looks = 2; ///< at a source, after the first
    static constexpr std::uint64_t max_ranges = 1024, max_contents = 512;
    /// Copies of less are soon compared as a whole, and take little longer than a look.
    static constexpr std::uint64_t least_for_places = 512 * 1024;
    /// So much of one value is worth a memory set, even if it is sent once.
    static constexpr std::uint64_t least_for_value = 16 << 20;

    /// A device range: the hash of the last part that was copied to or from it, and how many in a row were
    /// equal.
    struct DeviceRange {
        std::uint64_t device, bytes, part_hash, equal;
    };

    /// What the latest copy of these many bytes with this hash of a part held elsewhere.
    struct KnownContent {
        std::uint64_t key, bytes;
        std::uint32_t turn; ///< whose places these are
        HostBytes::Places places;
        bool whole;   ///< all of it was hashed, too
        bool awaited; ///< nothing was compared with that yet: time is reserved for it
    };

    /// A download that may still run.
    struct Waiting {
        pthread_t thread;
        std::uint64_t copy;
        trace::StreamId stream;
        std::uint64_t source, destination, bytes;
    };

    /// An asynchronous upload from page-locked memory that may still run.
    struct Upload {
        pthread_t thread;
        std::uint64_t copy;
        trace::StreamId stream;
        std::uint64_t source, bytes;
        trace::AllocationId allocation;
        std::uint64_t part_hash, whole_hash; ///< of the source before the call
        bool measured;                       ///< the device's time of it, so what is seen can be proved
        std::uint32_t looks;                 ///< since then
    };

    static bool is_host(trace::Memory memory) noexcept {
        return memory == trace::Memory::pageable || memory == trace::Memory::pinned ||
               memory == trace::Memory::registered;
    }
    static bool is_on_device(trace::Memory memory) noexcept {
        return memory == trace::Memory::device || memory == trace::Memory::array;
    }
    static bool is_upload(const trace::Copy& record) noexcept {
        return is_on_device(record.destination_memory) && is_host(record.source_memory);
    }
    static bool is_download(const trace::Copy& record) noexcept {
        return is_on_device(record.source_memory) && is_host(record.destination_memory);
    }
    bool applies_to(const trace::Copy& record, std::uint64_t span) const noexcept;
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
    KnownContent& compare_places(trace::CopyContent& content, std::uint64_t host, std::uint64_t bytes) noexcept;
    void hash_one_of_two(KnownContent& known, trace::CopyContent& content, std::uint64_t host,
                         std::uint64_t bytes) noexcept;

    Budget budget_{20'000'000};

    TryLock lock_;                               ///< guards what follows
    std::uint64_t on_parts_ = 0, on_wholes_ = 0; ///< time spent; at most 3/16 and 3/4 of the budget
    std::uint64_t reserved_ = 0;                 ///< of the latter, for what is awaited
    /// Of both, for sources hashed again: at most 1/16, and half of that for uploads that are not measured. A
    /// program that uploads often would spend all of it on these, and change what is measured, one upload in
    /// 64 or fewer, unseen.
    std::uint64_t on_sources_ = 0;
    DeviceRange ranges_[max_ranges] = {};
    KnownContent contents_[max_contents] = {};
    base::BoundedList<Waiting, most_downloads> downloads_;
    base::BoundedList<Upload, most_uploads> uploads_;
    HostBytes bytes_ = {};
};

CopyContents& copy_contents() noexcept;

} // namespace umadvisor::observe

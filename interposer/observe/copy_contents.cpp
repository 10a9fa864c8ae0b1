#include "interposer/observe/copy_contents.hpp"

#include "interposer/observe/host_read.hpp"
#include "interposer/observe/pagemap.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/slow_path.hpp"
#include "interposer/runtime/options.hpp"
#include "residency/prices.hpp"

#include <algorithm>

namespace umadvisor::observe {

namespace {

using residency::decision_prices;

constexpr std::uint64_t equal_before = 2; ///< equal parts before all bytes are hashed

std::uint64_t time_to_hash(std::uint64_t bytes) {
    return residency::transfer_time(bytes, decision_prices.host_hash);
}

/// True if the host has all `bytes` from `first`. A copy of pageable memory has made sure of that where the
/// CPU makes the copy. Where the device reads by the host's page tables, it may still be about to, or the pages
/// may have migrated to it.
bool is_on_host(std::uint64_t first, std::uint64_t bytes) {
    if (!looks_for_pageable_memory())
        return true;
    if (record::is_confined())
        return false; // to ask takes calls that a filter may kill the program for
    Pagemap pagemap;
    if (pagemap.trouble() != nullptr)
        return true;
    const std::uint64_t page = Pagemap::page_bytes();
    std::uint64_t from = first & ~(page - 1), to = (first + bytes + page - 1) & ~(page - 1), present = 0;
    pagemap.visit_present(
        from, to,
        [](void* sum, std::uint64_t begin, std::uint64_t end) {
            *static_cast<std::uint64_t*>(sum) += end - begin;
        },
        &present);
    return present == to - from;
}

} // namespace

CopyContents& copy_contents() noexcept {
    static constinit CopyContents contents;
    return contents;
}

bool CopyContents::applies_to(const trace::Copy& record, std::uint64_t span) const noexcept {
    return runtime::options().hashing != runtime::Hashing::off && record.bytes != 0 && span == record.bytes &&
           record.captured == 0;
}

bool CopyContents::is_suspect(std::uint64_t device, std::uint64_t bytes, std::uint64_t part_hash) noexcept {
    DeviceRange& range = ranges_[(device ^ bytes) * 0x9e3779b97f4a7c15u >> 54];
    if (range.device != device || range.bytes != bytes)
        range = {device, bytes, 0, 0};
    range.equal += range.part_hash == part_hash;
    range.part_hash = part_hash;
    return range.equal >= equal_before;
}

/// A small copy is hashed as a whole.
trace::CopyContent CopyContents::hash_part(std::uint64_t host, std::uint64_t bytes) noexcept {
    trace::CopyContent content;
    if (bytes > HostBytes::small) {
        bytes_.hash_part(content, host, bytes);
    } else {
        bytes_.hash_whole(content, host, bytes);
        content.part_hash = content.whole_hash;
    }
    return content;
}

trace::CopyContent CopyContents::hash(std::uint64_t host, std::uint64_t device, std::uint64_t bytes) noexcept {
    trace::CopyContent content = hash_part(host, bytes);
    if (bytes <= HostBytes::small || content.part_hash == 0)
        return content;
    KnownContent* const known = bytes >= least_for_places ? &compare_places(content, host, bytes) : nullptr;
    const bool suspect = is_suspect(device, bytes, content.part_hash) && content.places_differ == 0;
    if (runtime::options().hashing == runtime::Hashing::full || (suspect && known == nullptr))
        hash_whole(content, host, bytes);
    else if (suspect)
        hash_one_of_two(*known, content, host, bytes);
    return content;
}

/// Bytes that repeat one value may have equal parts and differ elsewhere, so each address has its own entry.
CopyContents::KnownContent& CopyContents::compare_places(trace::CopyContent& content, std::uint64_t host,
                                                         std::uint64_t bytes) noexcept {
    const std::uint64_t key = content.value_bytes == 0 ? content.part_hash : content.part_hash ^ host;
    KnownContent& known = contents_[(key ^ bytes) * 0x9e3779b97f4a7c15u >> 55];
    HostBytes::Places now, next;
    if (known.key != key || known.bytes != bytes) {
        if (content.value_bytes != 0 && bytes >= least_for_value)
            bytes_.check_value(content, host, bytes);
        if (known.awaited)
            reserved_ -= std::min(reserved_, time_to_hash(known.bytes));
        known = {};
        if (bytes_.hash_places(host, bytes, 0, next, nullptr))
            known = {key, bytes, 0, next, false, false};
    } else if (bytes_.hash_places(host, bytes, known.turn, now, &next)) {
        content.places = HostBytes::places;
        for (std::size_t i = 0; i < HostBytes::places; ++i)
            content.places_differ += now[i] != known.places[i];
        ++known.turn;
        known.places = next;
    }
    return known;
}

/// The hash of one copy's bytes says nothing without that of another: the first is computed only where there is
/// time for both.
void CopyContents::hash_one_of_two(KnownContent& known, trace::CopyContent& content, std::uint64_t host,
                                   std::uint64_t bytes) noexcept {
    const std::uint64_t takes = time_to_hash(bytes);
    if (!known.whole && on_wholes_ + reserved_ + 2 * takes >= budget_.so_far() / 4 * 3) {
        reserved_ -= reserved_ / 8; // what is awaited may never come
        return;
    }
    hash_whole(content, host, bytes);
    if (content.whole_hash == 0)
        return;
    if (known.awaited)
        reserved_ -= std::min(reserved_, takes);
    else if (!known.whole)
        reserved_ += takes;
    known.awaited = !known.whole;
    known.whole = true;
}

/// Does nothing beyond the budget.
void CopyContents::hash_whole(trace::CopyContent& content, std::uint64_t host, std::uint64_t bytes) noexcept {
    if (on_wholes_ + time_to_hash(bytes) >= budget_.so_far() / 4 * 3)
        return;
    const Work work;
    bytes_.hash_whole(content, host, bytes);
    on_wholes_ += work.took(time_to_hash(bytes));
}

/// The result of `hash()`, if the budget allows it and the host memory may be read.
template <class Hash>
trace::CopyContent CopyContents::look(std::uint64_t host, std::uint64_t bytes, const Hash& hash) noexcept {
    if (on_parts_ >= budget_.so_far() / 16 * 3)
        return {};
    const std::uint64_t begin = record::now(), before = on_wholes_;
    const Work work = Work::brief(decision_prices.host_hash_part);
    const record::SlowPath slow;
    const record::Quiet quiet;
    trace::CopyContent content;
    if (may_read_host(host, bytes))
        content = hash();
    if (on_wholes_ == before)
        on_parts_ += work.took(modelled_look + time_to_hash(std::min(bytes, HostBytes::small)));
    content.look_duration = record::now() - begin;
    return content;
}

trace::CopyContent CopyContents::look(std::uint64_t host, std::uint64_t device, std::uint64_t bytes) noexcept {
    return look(host, bytes, [&] { return hash(host, device, bytes); });
}

void CopyContents::look_at_upload(trace::Copy& record) noexcept {
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    record.content = look(record.source, record.bytes, [&record, this]() -> trace::CopyContent {
        if (record.source_memory == trace::Memory::pageable && !is_on_host(record.source, record.bytes))
            return {};
        return hash(record.source, record.destination, record.bytes);
    });
}

void CopyContents::forget_waiting() noexcept {
    const TryLock::Attempt attempt(lock_);
    if (attempt)
        downloads_.drop([](const Waiting& download) { return download.thread == pthread_self(); });
}

void CopyContents::look_at_download(trace::Copy& record) noexcept {
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const std::uint64_t first = record.destination, last = first + record.bytes;
    // After a synchronous call the program knows that its earlier downloads are complete, and may change them.
    downloads_.drop([&](const Waiting& before) {
        return (before.destination < last && first < before.destination + before.bytes) ||
               (record.asynchronous == 0 && before.thread == pthread_self());
    });
    if (record.asynchronous == 0 || record.destination_memory == trace::Memory::pageable) {
        record.content = look(record.destination, record.source, record.bytes);
        return;
    }
    downloads_.add(
        {pthread_self(), record.start, record.stream, record.source, record.destination, record.bytes});
    record.content_follows = 1;
}

void CopyContents::look_at_waiting(const trace::Sync& record) noexcept {
    using trace::SyncKind;
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const bool of_event = record.kind == SyncKind::event || record.kind == SyncKind::event_query;
    downloads_.drop([&](const Waiting& download) {
        if (download.thread != pthread_self() || of_event)
            return download.thread == pthread_self();
        if (record.kind != SyncKind::context && download.stream != record.of_stream())
            return false;
        trace::Content result;
        result.start = record::now();
        result.copy = download.copy;
        result.content = look(download.destination, download.source, download.bytes);
        if (result.content.part_hash != 0)
            record::write(result);
        return true;
    });
}

void CopyContents::keep_upload(const trace::Copy& record) noexcept {
    if (record.source_memory == trace::Memory::pageable)
        return; // it is not known whether the driver still has to read it
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const auto of_stream = [&](const Upload& upload) { return upload.stream == record.stream; };
    std::uint32_t more = uploads_.count(of_stream);
    uploads_.drop([&](const Upload& upload) { return of_stream(upload) && more-- >= most_of_a_stream; });
    uploads_.add({pthread_self(), record.start, record.stream, record.source, record.bytes,
                  record.source_allocation, record.content.part_hash, record.content.whole_hash,
                  record.sample != 0, 0});
}

/// Hashes the source again. Returns whether that was the last time: it has changed, it was freed, or it was
/// hashed often enough.
bool CopyContents::look_again(Upload& upload) noexcept {
    if (on_sources_ >= budget_.so_far() / (upload.measured ? 16 : 32))
        return false;
    const auto is_same_allocation = [&] {
        Allocation allocation{};
        return allocations().find(upload.source, allocation) &&
               trace::AllocationId{allocation.id} == upload.allocation;
    };
    if (!is_same_allocation())
        return true;
    const std::uint64_t before = on_parts_ + on_wholes_;
    trace::Content result;
    result.start = record::now();
    result.copy = upload.copy;
    result.source_changed = 1;
    result.content = look(upload.source, upload.bytes, [&] {
        trace::CopyContent content = hash_part(upload.source, upload.bytes);
        if (content.part_hash == upload.part_hash && content.whole_hash == 0 && upload.whole_hash != 0 &&
            runtime::options().hashing == runtime::Hashing::full)
            hash_whole(content, upload.source, upload.bytes);
        return content;
    });
    on_sources_ += on_parts_ + on_wholes_ - before;
    const trace::CopyContent& now = result.content;
    const bool whole_differs =
        now.whole_hash != 0 && upload.whole_hash != 0 && now.whole_hash != upload.whole_hash;
    if (now.part_hash == 0 || (now.part_hash == upload.part_hash && !whole_differs))
        return ++upload.looks >= most_looks;
    if (is_same_allocation()) // else it was freed meanwhile, and the bytes may belong to another allocation
        record::write(result);
    return true;
}

void CopyContents::look_again_before(const trace::Copy& record) noexcept {
    if (record.captured != 0)
        return;
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    uploads_.drop([&](Upload& upload) {
        const auto meets = [&](std::uint64_t address) {
            return address < upload.source + upload.bytes && upload.source < address + record.bytes;
        };
        const bool sends = is_upload(record) && meets(record.source);
        // Of two uploads of the same bytes the analyzer compares the hashes.
        const bool same = upload.source == record.source && upload.bytes == record.bytes;
        const bool own = upload.thread == pthread_self();
        if (own && (record.asynchronous == 0 || (sends && !same)) && look_again(upload))
            return true;
        return meets(record.destination) || (sends && record.asynchronous != 0);
    });
}

void CopyContents::look_again_before(const trace::Sync& record) noexcept {
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    uploads_.drop([&](Upload& upload) {
        const bool other = record.kind == trace::SyncKind::stream && upload.stream != record.of_stream();
        return upload.thread == pthread_self() && !other && look_again(upload);
    });
}

void CopyContents::forget_uploads(const trace::Sync& record) noexcept {
    using trace::SyncKind;
    if (record.kind == SyncKind::event) // it may have been recorded before the uploads
        return;
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const bool of_stream = record.kind == SyncKind::stream || record.kind == SyncKind::stream_query;
    uploads_.drop([&](const Upload& upload) {
        return upload.thread == pthread_self() && (!of_stream || upload.stream == record.of_stream());
    });
}

} // namespace umadvisor::observe

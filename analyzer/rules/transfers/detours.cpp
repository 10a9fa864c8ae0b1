#include "analyzer/rules/transfers/detours.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/symbols/python_framework.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr std::size_t most_threads = 1024;
constexpr std::uint64_t least_known_bytes = 64 * 1024;
/// In less time than all bytes take at this rate, the host cannot have computed with half of them.
constexpr double looking_rate = 40e9;
/// A host that looks at a small part of what comes down needs the download. In the time that this share of all
/// bytes takes at that rate, it was busy with the calls themselves.
constexpr double barely = 1.0 / 32;

bool has_pageable_end(const trace::Copy& copy) {
    return copy.source_memory == trace::Memory::pageable || copy.destination_memory == trace::Memory::pageable;
}

bool holds_the_host(const trace::Copy& copy) {
    return copy.asynchronous == 0 || has_pageable_end(copy);
}

/// To change a few of the bytes takes the host no time.
bool is_changed(const trace::Copy& down, const trace::Copy& up) {
    return down.content.part_hash != 0 && up.content.part_hash != 0 &&
           down.content.part_hash != up.content.part_hash;
}

/// The recorder looks at page-locked memory before the call, at other memory after it.
std::uint64_t look_before(const trace::Copy& copy) {
    return facts::is_page_locked(copy.source_memory) ? copy.content.look_duration : 0;
}

} // namespace

/// While the host is in calls that copy, it cannot look at the bytes.
bool ThroughHost::unseen(const Thread& thread, const Download& download, const trace::Copy& up) const {
    if (download.seen_from == 0) // the host has not waited, but the stream orders both
        return download.copy.stream == up.stream;
    if (up.start < download.seen_from)
        return false;
    const double gap_ns = (static_cast<double>(up.start - download.seen_from) -
                           static_cast<double>(thread.busy - download.busy + look_before(up))) *
                          ns_per_tick_;
    return gap_ns <= static_cast<double>(up.bytes) / looking_rate * 1e9;
}

/// The time between calls is there for all that came down.
bool ThroughHost::barely_seen(const Thread& thread, const trace::Copy& up) const {
    const double own_ns = (static_cast<double>(up.start - thread.given_from) -
                           static_cast<double>(thread.busy - thread.given_busy + look_before(up))) *
                          ns_per_tick_;
    return host_time_known_ && own_ns <= barely * static_cast<double>(thread.given_bytes) / looking_rate * 1e9;
}

void ThroughHost::add(ThroughHostWay& way, const trace::Copy& copy) {
    way.pageable |= has_pageable_end(copy);
    way.waits &= holds_the_host(copy);
    // Ticks of so many bytes: cross-multiplied, the lower rate is the larger product.
    if (static_cast<double>(copy.duration) * static_cast<double>(way.least_bytes) <
            static_cast<double>(way.least_ticks) * static_cast<double>(copy.bytes) ||
        way.least_bytes == 0) {
        way.least_ticks = copy.duration;
        way.least_bytes = copy.bytes;
    }
    samples_.await(copy.sample, [&way, bytes = copy.bytes](std::uint64_t ns) {
        way.measured_bytes += bytes;
        way.measured_ns += ns;
    });
}

/// Returns true if the upload sends on what came down and the host had no time to look at.
bool ThroughHost::pass_on(Thread& thread, const trace::Copy& copy) {
    const auto found = std::ranges::find_if(thread.latest, [&](const Download& download) {
        return download.copy.destination == copy.source && download.copy.bytes == copy.bytes;
    });
    if (found == thread.latest.end())
        return false;
    const trace::Copy& down = found->copy;
    const trace::Alloc* const from = live_.find(down.source_allocation);
    const trace::Alloc* const to = live_.find(copy.destination_allocation);
    if (from == nullptr || to == nullptr)
        return false;
    const bool back = down.source == copy.destination;
    const ThroughHostSite site{ids::CallSite::of(down), ids::CallSite::of(copy), from->device, to->device};
    ThroughHostTotals& totals = (back ? back_ : sites_)[site];
    if (is_changed(down, copy)) {
        ++totals.changed;
        return false;
    }
    // Where the device holds something else by now, the host kept the bytes for later: unless both change
    // places, and this is the other's way.
    const bool exchanged = found->replaced_from == copy.destination;
    const bool seen = back ? !barely_seen(thread, copy) : !unseen(thread, *found, copy);
    if (seen || (!exchanged &&
                 !contents_.holds_download(down.source_allocation, down.source, down.source + down.bytes)))
        return false;
    if (!back) {
        ++calls_[site.down].paired;
        ++calls_[site.up].paired;
    }
    ++totals.pairs;
    totals.bytes += copy.bytes;
    add(totals.down, down);
    add(totals.up, copy);
    if (exchanged && !back) {
        ++totals.exchanged;
        ++found->replaced_by->exchanged;
    }
    for (Download& other : thread.latest)
        if (!back && other.copy.source == copy.destination && other.copy.bytes == copy.bytes) {
            other.replaced_from = down.source;
            other.replaced_by = &totals;
        }
    *found = {}; // what the host sends on to several devices it is to hold
    return true;
}

void ThroughHost::hand_over(Thread& thread, const trace::Copy& copy) {
    if (dictionary_.interpreters.empty() || copy.content.part_hash == 0 || copy.content.value_bytes != 0 ||
        copy.content.places_differ != 0)
        return;
    const auto found = std::ranges::find_if(thread.latest, [&](const Download& download) {
        const trace::CopyContent& brought = download.copy.content;
        return download.copy.bytes == copy.bytes && brought.part_hash == copy.content.part_hash &&
               (brought.whole_hash == 0 || copy.content.whole_hash == 0 ||
                brought.whole_hash == copy.content.whole_hash) &&
               download.copy.source != copy.destination;
    });
    if (found == thread.latest.end())
        return;
    const trace::Copy& down = found->copy;
    const trace::Alloc* const from = live_.find(down.source_allocation);
    const trace::Alloc* const to = live_.find(copy.destination_allocation);
    if (from == nullptr || to == nullptr ||
        !contents_.holds_download(down.source_allocation, down.source, down.source + down.bytes))
        return;
    const ThroughHostSite site{ids::CallSite::of(down), ids::CallSite::of(copy), from->device, to->device};
    const symbols::PythonFramework gives = symbols::framework_at(dictionary_, site.down.stack),
                                   takes = symbols::framework_at(dictionary_, site.up.stack);
    if (gives == takes || gives == symbols::PythonFramework::none || takes == symbols::PythonFramework::none)
        return;
    ++calls_[site.up].paired;
    ThroughHostTotals& totals = handed_over_[site];
    ++totals.pairs;
    totals.bytes += copy.bytes;
    add(totals.down, down);
    add(totals.up, copy);
}

void ThroughHost::add(const trace::Copy& copy, std::uint32_t on) {
    count(copy, on);
    if (Thread* const thread = threads_.find(on))
        thread->busy += copy.duration + copy.content.look_duration;
}

void ThroughHost::count(const trace::Copy& copy, std::uint32_t on) {
    if (copy.status != 0 || copy.captured != 0 || copy.origin != trace::Origin::program || copy.width != 0 ||
        copy.batch != 0 || copy.bytes < least_known_bytes)
        return;
    const bool down =
        copy.source_memory == trace::Memory::device && facts::is_host_memory(copy.destination_memory);
    const bool up =
        facts::is_host_memory(copy.source_memory) && copy.destination_memory == trace::Memory::device;
    if (!down && !up)
        return;
    ++calls_[ids::CallSite::of(copy)].copies;
    Thread& thread = of(on);
    if (up) {
        thread.sends = true;
        if (!pass_on(thread, copy))
            hand_over(thread, copy);
        return;
    }
    if (std::exchange(thread.sends, false) || thread.given_bytes == 0) {
        thread.given_from = copy.start + copy.duration;
        thread.given_busy = thread.busy + copy.duration;
        thread.given_bytes = 0;
    }
    thread.given_bytes += copy.bytes;
    const auto same = std::ranges::find_if(
        thread.latest, [&](const Download& download) { return download.copy.destination == copy.destination; });
    Download& kept = same != thread.latest.end() ? *same : thread.latest[thread.next++ % thread.latest.size()];
    kept = {.copy = copy,
            .seen_from = holds_the_host(copy) ? copy.start + copy.duration : 0,
            .busy = thread.busy + copy.duration};
    thread.unseen |= kept.seen_from == 0;
}

ThroughHost::Thread& ThroughHost::of(std::uint32_t thread) {
    if (Thread* const known = threads_.find(thread))
        return *known;
    if (threads_known_++ == most_threads) {
        threads_.clear();
        threads_known_ = 1;
    }
    return threads_[thread];
}

void ThroughHost::add(const trace::Sync& record, std::uint32_t thread) {
    Thread* const found = threads_.find(thread);
    if (found == nullptr || !std::exchange(found->unseen, false))
        return;
    for (Download& download : found->latest)
        if (download.copy.bytes != 0 && download.seen_from == 0) {
            download.seen_from = record.start + record.duration;
            download.busy = found->busy;
        }
}

void ThroughHost::add(const trace::Content& record, std::uint32_t thread) {
    if (Thread* const found = threads_.find(thread); found != nullptr && record.source_changed == 0)
        for (Download& download : found->latest)
            if (download.copy.start == record.copy)
                download.copy.content = record.content;
}

void ThroughHost::add(const trace::Peer& record) {
    if (record.status == 0 && record.action == trace::PeerAction::enable)
        peers_.emplace(record.device, record.peer);
}

bool ThroughHost::tells_of(const ids::CallSite& site) const {
    const auto found = calls_.map().find(site);
    return found != calls_.map().end() && found->second.paired * 2 > found->second.copies;
}

} // namespace umadvisor::rules

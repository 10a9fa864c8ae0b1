/// How long calls held the threads that made them, by where they were made.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/ids/call_site.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"

#include <compare>
#include <cstdint>
#include <unordered_map>

namespace umadvisor::tables {

/// Calls that return only when something is done: synchronisations, copies that are synchronous or, with a
/// pageable end, so in effect, allocation and free. Memory: one entry a call site.
class Waits {
public:
    void add(const trace::Sync& record) {
        if (facts::waits_for_work(record))
            ticks_[ids::CallSite::of(record)] += record.duration;
    }
    void add(const trace::Copy& record) {
        const bool pageable = record.source_memory == trace::Memory::pageable ||
                              record.destination_memory == trace::Memory::pageable;
        if (record.origin == trace::Origin::program && (record.asynchronous == 0 || pageable))
            ticks_[ids::CallSite::of(record)] += record.duration;
    }
    void add(const trace::Alloc& record) { add_own(record, record.part); }
    void add(const trace::Free& record) { add_own(record, record.part); }

    using Ticks = std::unordered_map<ids::CallSite, std::uint64_t>;
    const Ticks& ticks() const { return ticks_.map(); }

private:
    void add_own(const trace::Call& record, std::uint64_t part) {
        if (part == 0) // else the call has a record of its own
            ticks_[ids::CallSite::of(record)] += record.duration;
    }

    facts::CachedMap<Ticks> ticks_;
};

} // namespace umadvisor::tables

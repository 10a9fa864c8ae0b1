/// Events that were recorded again, in another stream, before anything waited for their first record.
#pragma once

#include "analyzer/facts/stream_order.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/counter.hpp"

#include <cstdint>
#include <vector>

namespace umadvisor::rules {

/// An event stands for its last record only. A stream that waits for it does not wait for the work before an
/// earlier record in another stream, though the program recorded the event there to be waited for. A record
/// in a stream that is behind the first one by other means replaces nothing. Memory: 4,096 events, and up to 16
/// records for each event and each stream.
class LostRecords {
public:
    struct Lost {
        facts::StreamOrder::Moment work; ///< the last before the record that was replaced
        ids::CallSite site, replaced_at;
    };

    /// `order` has the call already.
    void add(const WorkCall& made, const facts::StreamOrder& order);
    /// The record by which `stream` would be behind the work, had it not been replaced; null: there is none.
    const Lost* find(const facts::StreamOrder::Moment& work, const facts::StreamPlace& stream) const;

private:
    struct Recorded {
        facts::StreamOrder::Moment work;
        ids::CallSite site;
        bool awaited = true;
        std::vector<Lost> lost; ///< since something waited for the event
    };
    void record(std::uint64_t event, const facts::Call& call, const facts::StreamOrder& order);
    void join(const Recorded& recorded, const facts::StreamPlace& stream, const facts::StreamOrder& order);

    reader::FlatMap<Recorded> recorded_;    ///< by the event's handle
    std::vector<std::vector<Lost>> missed_; ///< by StreamPlace::number: what it did not wait for
};

} // namespace umadvisor::rules

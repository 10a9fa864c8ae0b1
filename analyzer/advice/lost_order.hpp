/// Pairs of uses that a run orders and an edit of it does not.
#pragma once

#include "analyzer/advice/edited_order.hpp"
#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/call.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/stream_order.hpp"
#include "analyzer/facts/written_parameters.hpp"
#include "analyzer/ids/allocation_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace umadvisor::advice {

/// Follows the events of a run, and beside it the order that each of several edits would leave. In doubt an
/// edit loses a pair: a kernel whose parameters may be written writes the whole allocation, and work that the
/// trace does not describe in full uses all memory. Memory: what EditedOrder has, for each edit,
/// and an entry a call site.
class LostOrder {
public:
    /// The dictionary must outlive it.
    LostOrder(const reader::Dictionary& dictionary, std::vector<OrderEdit> edits);

    /// What the event at `cursor` does; `call`: nullptr where it is no call.
    void add(const reader::ThreadCursor& cursor, const facts::Call* call);
    /// Call once, at the end: the host may look at everything then.
    void finish();

    /// Of the edit with this index. Empty where the order is not known from calls alone.
    const LostPairs& pairs(std::size_t edit) const { return edited_[edit].pairs(); }
    /// The calls of the run do not show its order.
    bool unknown() const { return base_.unknown(); }

private:
    struct Memory {
        std::uint64_t address = 0, bytes = 0;
        ids::AllocationSite site;
        bool is_on_host() const {
            return site.memory == trace::Memory::managed || facts::is_host_memory(site.memory);
        }
    };
    template <class Record>
    void observe(const Record& record);
    void observe(const trace::Alloc& record);
    void observe(const trace::Free& record);
    using ChangesOf = std::vector<const OrderChange*>; ///< by edit; nullptr: none; empty: no edit has any
    const ChangesOf& changes_of(const ids::CallSite& site) { return changes_[site]; }
    static const OrderChange* change_in(const ChangesOf& changes, std::size_t edit) {
        return changes.empty() ? nullptr : changes[edit];
    }
    void follow(const facts::Call& run, bool rested);
    /// Until then no edit keeps uses of memory.
    bool several_streams() const { return streams_made_ || base_.several_streams(); }
    void touch(trace::AllocationId allocation, Touch touch);
    void look_at(const reader::ThreadCursor& cursor, const facts::Call& call);
    void look_at(const trace::Copy& copy);
    void look_at(const trace::Set& set);
    void look_at(const reader::Shape* shape, bool meets_others);
    bool is_on_host(trace::AllocationId allocation) const;

    const reader::Dictionary& dictionary_;
    facts::StreamOrder base_;
    facts::WrittenParameters written_;
    reader::FlatMap<Memory, trace::AllocationId> live_; ///< by allocation
    std::vector<double> ends_;                          ///< of each thread's last call
    bool streams_made_ = false;
    MemoryUse use_;             ///< of the call at hand
    bool sources_told_ = false; ///< a hash of one; without any no edit keeps sources
    std::vector<EditedOrder> edited_;
    std::vector<std::size_t> apart_; ///< edits that have an order of their own at present
    facts::CachedMap<std::unordered_map<ids::CallSite, ChangesOf>> changes_;
};

} // namespace umadvisor::advice

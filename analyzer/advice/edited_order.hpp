/// The order that one edit of a run would leave, beside the order that the run has.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/facts/stream_order.hpp"
#include "analyzer/ids/allocation_site.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/hazards.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace umadvisor::advice {

/// What an edit does to the calls of one call site, as far as order is concerned.
struct OrderChange {
    enum class What : std::uint8_t {
        gone,         ///< neither work nor wait
        replaced,     ///< other work in the same stream does the same, and the call does not wait
        asynchronous, ///< the call does not wait
        own_stream,   ///< its work gets a stream of its own, which does not wait for the default stream
        kept,         ///< of an allocation: its memory is not freed, and serves the next one of this call site
    };
    What what{};
    bool read_later = false; ///< what its work brings is looked at where that is waited for
};
using OrderEdit = std::unordered_map<ids::CallSite, OrderChange>;

/// Two uses of the same memory: the run made sure that `first` was done before `second`. If the host is the
/// second user, `second` has no stack and no entry.
struct LostPair {
    ids::CallSite first, second;
    bool by_host() const { return second == ids::CallSite{}; }
    auto operator<=>(const LostPair&) const = default;
};
using LostPairs = std::map<LostPair, std::uint64_t>; ///< and how often

/// Bytes of an allocation that a call's work uses.
struct Touch {
    trace::AllocationId allocation{};
    std::uint64_t first = 0, last = 0; ///< offsets in it; last: one behind
    std::uint64_t made_of = 0;         ///< of kernels their function; else equal: what they write is the same
    rules::AccessKind kind{};
    bool writes = false;
};
/// What a call does to memory.
struct MemoryUse {
    std::vector<Touch> touches;
    bool untold = false;       ///< it may use any memory
    bool seen_by_host = false; ///< it leaves something where the host can read it
    std::uint64_t source = 0, source_bytes = 0, source_hash = 0; ///< of an upload: host memory; 0: none
    trace::AllocationId freed{};                                 ///< the allocation that it frees
    ids::AllocationSite freed_site;
    bool frees_in_stream = false;

    void clear() {
        touches.clear();
        untold = seen_by_host = frees_in_stream = false;
        source = source_bytes = source_hash = 0;
        freed = {};
    }
};

/// The changes that an edit makes to one call and that concern the order of work. A null pointer means no
/// change.
struct Changes {
    const OrderChange* call = nullptr;
    const OrderChange* memory = nullptr; ///< to the allocation that it frees
};

/// The host is assumed to use what the device brought, or what an upload reads, when it has time of its own
/// after the wait for it, or when the next upload from there shows a change. Most of the time the edit leaves
/// the run's order as it is; then the run's order is asked and no other is kept. Memory: 16 uses each of
/// 4,096 allocations, 64 results that the host has not waited for, 1,024 sources of uploads, 256 pairs of call
/// sites.
class EditedOrder {
public:
    explicit EditedOrder(OrderEdit edit);

    const OrderEdit& edit() const { return edit_; }
    /// The edit has an order of its own at present, and wants to see each call. Otherwise it only wants those
    /// that it changes, or that do something to memory.
    bool is_apart() const { return apart_from_run_; }
    /// Before the run's order sees the call. `rested`: the host may have used memory since the last call.
    void before(const facts::Call& call, const MemoryUse& done, bool rested, const Changes& changes,
                const facts::StreamOrder& base);
    /// After the run's order has seen the call.
    void add(const facts::Call& call, const MemoryUse& done, bool several_streams, const Changes& changes,
             const facts::StreamOrder& base);
    void give_up() { pairs_.clear(); }
    void allocated(trace::AllocationId allocation, const ids::AllocationSite& site);
    void freed(trace::AllocationId allocation) { uses_.erase(allocation); }
    void finish(const facts::StreamOrder& base);

    const LostPairs& pairs() const { return pairs_; }

private:
    /// A piece of work as the run and the edited run know it.
    struct Moments {
        facts::StreamOrder::Moment base, edited;
    };
    struct Use {
        Touch touch;
        ids::CallSite site;
        Moments moments;
        std::uint32_t met = 0; ///< number, plus 1, of the stream whose work met it
    };
    struct Piece {
        ids::CallSite site;
        Moments moments;
        bool used = false;
    };
    struct Source {
        Piece piece;
        std::uint64_t bytes = 0, hash = 0;
        bool read_at_once = false; ///< in the run, before its call returned
    };

    static bool is_left_out(const OrderChange* change) {
        return change != nullptr && change->what == OrderChange::What::gone;
    }
    facts::Call edited(facts::Call call, const OrderChange* change) const;
    const facts::StreamOrder& order(const facts::StreamOrder& base) const {
        return apart_from_run_ ? order_ : base;
    }
    bool takes_order(const facts::Call& call, const MemoryUse& done, const Changes& changes) const;
    void part(const facts::StreamOrder& base);
    void order_call(const facts::Call& run, const facts::Call& call, const facts::StreamOrder& base);
    void look(const facts::StreamOrder& base);
    void leave_for_host(const Piece& piece, const facts::StreamOrder& base);
    void free(const facts::Call& call, const MemoryUse& done, const Changes& changes,
              const facts::StreamOrder& base);
    void use(const Touch& touch, const facts::Call& run, const facts::Call& call,
             const facts::StreamOrder& base);
    void meet_unknown(const MemoryUse& done, const facts::Call& run, const facts::Call& call,
                      const facts::StreamOrder& base);
    bool is_lost(const Moments& earlier, const facts::StreamPlace& run, const facts::StreamPlace& edited,
                 const facts::StreamOrder& base) const;
    void note(const ids::CallSite& first, const ids::CallSite& second);

    /// Removes uses that a later, equal use stands for.
    void tidy(std::vector<Use>& uses, const Touch& touch, std::uint32_t stream,
              const facts::StreamOrder& base) const;

    static constexpr std::size_t most_allocations = 4096, most_uses = 16, most_results = 64,
                                 most_sources = 1024, most_kept = 64, most_pairs = 256;

    OrderEdit edit_;
    bool own_stream_ = false;
    bool apart_from_run_ = false; ///< order_ is kept
    facts::StreamOrder order_;
    std::size_t steps_ = 0, look_ = 0; ///< calls since then; so many before the next look whether it agrees
    reader::FlatMap<std::vector<Use>, trace::AllocationId> uses_; ///< by allocation
    std::map<ids::CallSite, std::vector<std::vector<Use>>>
        kept_;                         ///< of memory that is not freed, by its call site
    std::vector<Piece> untold_, last_; ///< by stream: the last that may use any memory; the last
    std::vector<Piece> results_;       ///< that the host has not waited for
    reader::FlatMap<Source> sources_;  ///< by address
    LostPairs pairs_;
    std::set<LostPair>
        apart_; ///< kernels that the run itself leaves without order: each has its part of the memory
};

} // namespace umadvisor::advice

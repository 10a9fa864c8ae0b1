/// Pairs of uses of the same bytes that nothing orders, though they must not meet.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/facts/least_ends.hpp"
#include "analyzer/facts/stream_order.hpp"
#include "analyzer/facts/written_parameters.hpp"
#include "analyzer/ids/allocation_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/correctness/lost_records.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/hidden_order.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::rules {

enum class HazardKind : std::uint8_t {
    reused_source,   ///< the host changes the source of an upload that has not been done, and uploads it again
    changed_source,  ///< the same, seen before another call
    freed_in_flight, ///< memory is freed in a stream while another works on it
    freed_at_once,   ///< memory of a pool is freed by a call that waits for nothing, while a stream works on it
    lost_record, ///< as below, and the event that should order them was recorded again before anything waited
    unordered_streams, ///< two streams use the same bytes, and one at least writes
};

/// Two call sites: `first` queued the work that was still to do at `second`.
struct HazardSite {
    HazardKind kind{};
    ids::CallSite first, second;
    auto operator<=>(const HazardSite&) const = default;
};

/// What a use of memory is.
enum class AccessKind : std::uint8_t { copy, set, kernel, free };

/// Whether the rows are contiguous.
bool is_one_piece(std::uint64_t width, std::uint64_t height, std::uint64_t depth, std::uint64_t pitch);

struct HazardTotals {
    std::uint64_t times = 0;  ///< that no call ordered both
    std::uint64_t proved = 0; ///< of these, the first cannot have ended when the second was called
    double left_ns = 0;       ///< how long the first had still to go then, at the least: the longest of these
    std::uint64_t bytes = 0;  ///< that both use
    ids::AllocationSite allocation;
    std::uint64_t allocation_bytes = 0;
    AccessKind first{}, second{};
    std::uint64_t first_kernel = 0, second_kernel = 0; ///< functions
    LostRecords::Lost lost{};                          ///< of HazardKind::lost_record
};

/// A hazard needs two proofs: no call of the program orders both uses (StreamOrder), and the first cannot have
/// ended when the second was called (LeastEnds), so that the host cannot have found out in an unrecorded way.
/// The bytes are those of copies, memory sets and frees. A kernel uses each allocation that its pointers lead
/// to, and writes an allocation only if it may write no other. It counts against a free, and against a copy or
/// memory set of a whole allocation that is larger than a flag; against a part, or another kernel, it counts
/// where an event would order them had it not been recorded again. Sources of uploads are judged by their
/// hashes, and only where no device work may have changed them. The second hash is that of the next upload, or
/// of a look before another call. What the host may have learned later does not matter: at the time of the
/// look, the copy had not been done. Memory: 16 uses each of 4,096 allocations, as many sources, and a bounded
/// number of call sites.
class Hazards : public Counter {
public:
    explicit Hazards(const Begin& begin);

    void add(const trace::Alloc& record);
    void add(const trace::Free& record) {
        if (record.part != 0)
            forget(record.allocation);
    }
    void add(const trace::LaunchShape& record);
    void add(const trace::Stream& record);
    void add(const trace::Event& record) { hide(record); }
    void add(const trace::Context& record) { hide(record); }
    void add(const trace::Content& record, std::uint32_t thread);
    void add(const trace::Ipc& record) { hide(record); }
    void add(const trace::External& record) { hide(record); }
    void add(const WorkCall& work);
    void finish() override;

    using Sites = std::map<HazardSite, HazardTotals>;
    const Sites& sites() const { return sites_; }
    /// The order of all calls so far.
    const facts::StreamOrder& order() const { return order_; }
    /// Frees of memory that a kernel may still have used: no call orders both, but no time proves that it ran.
    const Sites& unproved_frees() const { return unproved_frees_; }

private:
    struct Memory {
        std::uint64_t address = 0, bytes = 0;
        ids::AllocationSite site;
        bool on_host = false;
        bool pooled = false;                  ///< no free of it waits
        bool reached = false;                 ///< of the host's: the device may write it at any time
        facts::StreamOrder::Moment written{}; ///< of the host's: by this device work last
        std::uint64_t writes = 0;             ///< how many such there were
    };
    struct Use {
        AccessKind kind{};
        bool writes = false;
        std::uint64_t first = 0, last = 0; ///< addresses; last: one behind
        std::uint64_t made_of = 0;         ///< equal: what they write is the same
        std::uint64_t kernel = 0;
        ids::CallSite site;
        facts::StreamOrder::Moment moment{};
        facts::LeastEnds::Work work{};
        std::uint32_t met =
            0; ///< number, plus 1, of the stream whose work met it: what comes behind that does, too
    };
    /// An upload from page-locked memory.
    struct Source {
        std::uint64_t bytes = 0, part_hash = 0, whole_hash = 0;
        trace::AllocationId allocation{};
        std::uint64_t writes = 0;
        std::uint64_t ticks = 0; ///< start of its record
        double start = 0;        ///< the same, as facts::Call has it
        std::uint32_t thread = 0;
        ids::CallSite site;
        facts::StreamOrder::Moment moment{};
        facts::LeastEnds::Work work{};
    };
    /// It was seen to have changed before the next call of its thread.
    struct Changed {
        Source source;
        double seen; ///< as facts::Call has times
    };
    /// Whether the first work had ended is known only when its time has been recorded.
    struct Open {
        facts::LeastEnds::Work work;
        double at;
    };

    template <class Record>
    void hide(const Record& record) {
        if (hides_order(record))
            order_.give_up();
    }
    void forget(trace::AllocationId allocation);
    void use(trace::AllocationId allocation, const Use& use, const facts::Call& call);
    void use(const trace::Copy& copy, const facts::Call& call, const facts::LeastEnds::Work& work);
    void use(const trace::Set& set, const facts::Call& call, const facts::LeastEnds::Work& work);
    void launch(const reader::Shape& shape, const facts::Call& call, const facts::LeastEnds::Work& work);
    void free(const trace::Free& record, facts::Call call);
    void change(trace::AllocationId allocation, const facts::Call& call);
    void upload(const trace::Copy& copy, const facts::Call& call, const facts::LeastEnds::Work& work);
    bool has_changed(const Source& source, const trace::CopyContent& now) const;
    void note_changed(const facts::Call& call);
    bool meet(const Memory& memory, const Use& earlier, const Use& later, bool lost_order) const;
    HazardTotals* note(const HazardSite& site, const facts::LeastEnds::Work& work, double at,
                       const Memory& memory);

    double ns_per_tick_;
    const reader::Dictionary& dictionary_;
    facts::StreamOrder order_;
    LostRecords lost_;
    facts::LeastEnds ends_;
    facts::WrittenParameters written_;
    reader::FlatMap<Memory, trace::AllocationId> live_;           ///< by allocation
    reader::FlatMap<std::vector<Use>, trace::AllocationId> uses_; ///< the same
    reader::FlatMap<Source> sources_;                             ///< the latest, by address
    reader::FlatMap<Source> in_flight_; ///< by `ticks`: what a Content record may refer to
    std::vector<Changed> changed_;      ///< no call of their thread has followed
    bool kernels_tell_ = true;          ///< which memory they write
    bool sources_tell_ = true;          ///< only recorded work may write page-locked memory
    bool streams_made_ = false;
    Sites sites_, unproved_frees_;
    std::map<HazardSite, std::vector<Open>> open_;
};

} // namespace umadvisor::rules

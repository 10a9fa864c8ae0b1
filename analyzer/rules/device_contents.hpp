/// What was sent to device memory: whether it was there already, and whether anything used it.
#pragma once

#include "analyzer/facts/written_parameters.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/fates.hpp"
#include "analyzer/rules/transfers/host_sources.hpp"
#include "analyzer/tables/copies.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::rules {

/// Follows the events in the order of time. In doubt bytes have been used and may have changed: a launch does
/// both to all allocations that its parameters reach, and to all there are where that is not known; so does
/// each launch of a graph. What a kernel takes as const it only uses. Kernels may also reach memory by pointers
/// that lie in device memory: nothing is reported on an allocation that no parameter has reached yet if a
/// launch came in between. Arrays count as read by each launch and written by none; nothing is reported on them
/// if the program has surfaces. Each launch may read and write a variable. Memory: one entry a live allocation,
/// at most 64 ranges each and a bounded number in all, one a site.
class DeviceContents : public Counter {
public:
    DeviceContents(double ns_per_tick, const reader::Dictionary& dictionary)
        : ns_per_tick_(ns_per_tick), written_(dictionary) {}
    explicit DeviceContents(const Begin& begin) : DeviceContents(begin.ns_per_tick, begin.dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Content& record, std::uint32_t thread);
    void add(const trace::Set& record);
    void add(const trace::Pause&) { forget_all(); }
    void add(const trace::GraphLaunch&) { use_all(); }
    void add(const trace::Stream& record);
    void add(const trace::Ipc& record);
    void add(const trace::Pool& record);
    void add(const Launched& launched) {
        ++launches_;
        if (!sent_.empty())
            use_reached(launched.shape);
    }
    void finish() override;

    const std::map<FateSite, FateTotals>& sites() const { return sites_; }
    /// Those of the copies that Copies adds up there whose fate is reported.
    tables::Tally reported(const tables::CopySite& site, bool small) const;
    /// Whether the bytes from `first` to `last` are those that the latest download of them brought.
    bool holds_download(trace::AllocationId allocation, std::uint64_t first, std::uint64_t last) const;

private:
    /// Allocated by the program for itself, or a variable.
    struct Memory {
        std::uint64_t end = 0, bytes = 0;
        ids::CallSite site;
        bool reached = false;                 ///< by a parameter of a launch
        bool array = false, variable = false; ///< kernels reach them without a parameter
    };

    /// How an upload repeats an earlier one of the same host bytes.
    enum class Repeat : std::uint8_t { none, again, twice };

    /// What a range holds, and the transfer that nothing has used yet.
    struct Range {
        std::uint64_t first = 0, last = 0;  ///< addresses; last: one behind
        std::uint64_t bytes = 0;            ///< of its rows, without the gaps between them
        std::uint64_t width = 0, pitch = 0; ///< of rows with gaps; 0: it has none
        trace::CopyContent content;
        bool downloaded = false; ///< the host was given the content
        std::uint64_t to = 0;    ///< where on the host that went
        bool pending = false;
        tables::CopySite site;
        std::uint64_t ticks = 0;
        ids::StackId stack{};       ///< of the latest call that gave the content
        std::uint64_t launches = 0; ///< before it did
        Repeat repeat{};
        bool compared = false;       ///< all bytes of both, or the host had no time to change them
        ids::StackId source_stack{}; ///< of the upload that it repeats
    };

    /// A download whose content is recorded later.
    struct Awaited {
        std::uint32_t thread;
        trace::Copy copy;
        /// The content before the download. Pending: it had come from where the download leads; downloaded: it
        /// went there before.
        Range before;
    };

    void read(const trace::Copy& copy, std::uint32_t thread);
    void download(const trace::Copy& copy, std::vector<Range>& ranges, std::uint32_t thread);
    void compare_download(const trace::Copy& copy, const Range& before, const trace::CopyContent& content);
    void write(trace::AllocationId allocation, Range range, bool whole_range);
    bool fills(const trace::Copy& copy) const;
    void compare_source(const trace::Copy& copy, Range& sent);
    bool holds(const HostSources::Sent& source) const;
    void bound();
    bool is_there(trace::AllocationId allocation, std::vector<Range>& ranges, const Range& sent);
    bool is_followed(trace::AllocationId allocation, const Range& range) const;
    void end_unused(trace::AllocationId allocation, const Range& range, ids::StackId stack, bool freed);
    void use_reached(const reader::Shape* shape);
    void use(trace::AllocationId allocation, bool changed);
    void use(trace::AllocationId allocation, Range& range);
    void use_all();
    void forget_all();
    FateTotals& totals(trace::AllocationId allocation, const Range& range, Fate fate);

    double ns_per_tick_;
    facts::WrittenParameters written_;
    std::uint64_t launches_ = 0;
    bool shared_ = false; ///< another process may write what it likes
    reader::FlatMap<Memory, trace::AllocationId> live_;
    reader::FlatMap<std::vector<Range>, trace::AllocationId> sent_; ///< by allocation
    std::size_t ranges_ = 0;                                        ///< in sent_, at the most
    std::vector<Awaited> awaited_;
    HostSources sources_;
    std::vector<trace::AllocationId>
        unread_; ///< arrays and variables to which something was sent since the latest launch
    /// Of the uploads of one call site.
    struct Looks {
        std::uint64_t count = 0;
        tables::Tally without;
    };
    std::map<std::pair<tables::CopySite, bool>, Looks> looks_; ///< true: of small ones
    std::map<FateSite, FateTotals> sites_;
};

} // namespace umadvisor::rules

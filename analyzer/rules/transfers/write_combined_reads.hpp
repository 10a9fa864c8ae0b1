/// Write-combined memory that the host reads, by the line that allocated it.
#pragma once

#include "analyzer/facts/per_thread.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::rules {

struct ReadTotals {
    std::uint64_t count = 0, bytes = 0, ticks = 0;
    void add(std::uint64_t more_bytes, std::uint64_t more_ticks) {
        ++count;
        bytes += more_bytes;
        ticks += more_ticks;
    }
};

struct WriteCombinedTotals {
    std::uint64_t largest = 0;                  ///< bytes of an allocation
    std::map<ids::CallSite, ReadTotals> copies; ///< from it to other host memory
    std::map<ids::CallSite, ReadTotals>
        downloads;                ///< into it, with the time that the host was busy after the wait
    std::uint64_t downloaded = 0; ///< times in all
    std::uint64_t passed_on = 0;  ///< of these, those that next went up to a device
};

/// The host was busy with what was downloaded if its thread makes no call behind the wait for as long as
/// reading that takes at least. Memory: one entry a live write-combined allocation and one a line; downloads
/// that nobody has waited for, `most_pending` at most.
class WriteCombined {
public:
    /// The dictionary must outlive it.
    WriteCombined(double ns_per_tick, const reader::Dictionary& dictionary)
        : ns_per_tick_(ns_per_tick), dictionary_(dictionary) {}

    void add(const trace::Alloc& record, std::uint32_t thread);
    void add(const trace::Free& record, std::uint32_t thread);
    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    /// Any other call.
    template <class Record>
    requires requires(const Record& record) { record.entry, record.stack, record.duration; }
    void add(const Record& record, std::uint32_t thread) { next(record.start, thread); }
    void launch(const trace::Launch& record, std::uint32_t thread) { next(record.start, thread); }

    const std::map<ids::CallSite, WriteCombinedTotals>& sites() const { return sites_; }

private:
    struct Live {
        WriteCombinedTotals* totals = nullptr;
        bool downloaded = false; ///< into it, and not passed on since
    };
    struct Download {
        WriteCombinedTotals* totals = nullptr;
        ids::CallSite call;
        std::uint64_t bytes = 0;
    };
    /// What a thread has waited for last.
    struct Waited {
        std::vector<Download> downloads;
        std::uint64_t end = 0;
    };
    static constexpr std::size_t most_pending = 1024;

    void next(std::uint64_t start, std::uint32_t thread);
    void wait(std::uint64_t end, std::uint32_t thread);

    double ns_per_tick_;
    const reader::Dictionary& dictionary_;
    std::map<ids::CallSite, WriteCombinedTotals> sites_;
    reader::FlatMap<Live> live_;
    std::vector<Download> pending_;
    facts::PerThread<Waited> waited_;
};

} // namespace umadvisor::rules

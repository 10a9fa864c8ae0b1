/// Write-combined memory that the host reads: no cache holds it, so each read goes to the memory by itself.
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unified/managed_edits.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

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

/// The host is assumed to read what was downloaded if its thread makes no call after the wait for at least as
/// long as such a read takes. Memory: one entry a live write-combined allocation and one a line, and downloads
/// for which no call has waited yet, `most_pending` at most.
class WriteCombined : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< the host makes these calls, too

    explicit WriteCombined(const Begin& begin)
        : ns_per_tick_(begin.ns_per_tick), dictionary_(begin.dictionary) {}

    void add(const trace::Alloc& record, std::uint32_t thread);
    void add(const trace::Free& record, std::uint32_t thread);
    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    /// Any other call.
    template <class Record>
    requires requires(const Record& record) { record.entry, record.stack, record.duration; }
    void add(const Record& record, std::uint32_t thread) { next(record.start, thread); }
    void add(const Launched& launched) { next(launched.record.start, launched.thread); }

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
    reader::FlatMap<Live, trace::AllocationId> live_;
    std::vector<Download> pending_;
    facts::PerThread<Waited> waited_;
};

constexpr std::uint64_t write_combined = 4; ///< CU_MEMHOSTALLOC_WRITECOMBINED
/// No host reads such memory faster.
constexpr double most_bytes_per_ns = 1;

void WriteCombined::add(const trace::Alloc& record, std::uint32_t thread) {
    next(record.start, thread);
    if (record.status != 0 || record.memory != trace::Memory::pinned || (record.flags & write_combined) == 0 ||
        record.origin != trace::Origin::program || dictionary_.symbol(record.entry) != "cuMemHostAlloc")
        return;
    WriteCombinedTotals& totals = sites_[ids::CallSite::of(record)];
    totals.largest = std::max(totals.largest, record.bytes);
    live_[record.allocation] = {&totals, false};
}

void WriteCombined::add(const trace::Free& record, std::uint32_t thread) {
    next(record.start, thread);
    if (record.status == 0)
        live_.erase(record.allocation);
}

void WriteCombined::add(const trace::Copy& record, std::uint32_t thread) {
    next(record.start, thread);
    if (live_.empty() || record.status != 0 || record.captured != 0)
        return;
    const ids::CallSite call = ids::CallSite::of(record);
    const std::uint64_t end = record.start + record.duration;
    if (Live* const source = live_.find(record.source_allocation)) {
        if (facts::is_host_memory(record.destination_memory))
            source->totals->copies[call].add(record.bytes, record.duration);
        else
            source->totals->passed_on += std::exchange(source->downloaded, false);
    }
    Live* const target = live_.find(record.destination_allocation);
    if (target != nullptr && !facts::is_host_memory(record.source_memory)) {
        target->downloaded = true;
        ++target->totals->downloaded;
        if (pending_.size() < most_pending)
            pending_.push_back({target->totals, call, record.bytes});
    }
    if (record.asynchronous == 0)
        wait(end, thread);
}

void WriteCombined::add(const trace::Sync& record, std::uint32_t thread) {
    next(record.start, thread);
    if (record.status == 0 && facts::waits_for_work(record))
        wait(record.start + record.duration, thread);
}

void WriteCombined::wait(std::uint64_t end, std::uint32_t thread) {
    if (pending_.empty())
        return;
    waited_[thread] = {std::exchange(pending_, {}), end};
}

void WriteCombined::next(std::uint64_t start, std::uint32_t thread) {
    if (live_.empty())
        return;
    Waited* const found = waited_.find(thread);
    if (found == nullptr || found->downloads.empty())
        return;
    const Waited waited = std::exchange(*found, {});
    double bytes = 0;
    for (const Download& download : waited.downloads)
        bytes += static_cast<double>(download.bytes);
    const auto busy = static_cast<double>(start - std::min(start, waited.end));
    if (bytes == 0 || busy * ns_per_tick_ * most_bytes_per_ns < bytes)
        return;
    for (const Download& download : waited.downloads)
        download.totals->downloads[download.call].add(
            download.bytes, static_cast<std::uint64_t>(busy * static_cast<double>(download.bytes) / bytes));
}

/// Copies that read it faster do not show what such memory is slow at.
constexpr double most_times_as_fast = 5;

struct ReadLine {
    ids::CallSite allocation;
    std::uint64_t largest = 0;
    ReadTotals copies, downloads;
    double copies_ns = 0, host_ns = 0; ///< what they took
    double spared_copies_ns = 0, spared_host_ns = 0;
    std::map<ids::StackId, double> reads; ///< what is spared, by line
    EditedCalls calls;                    ///< copies out of it
    WorkSites downloads_from;             ///< into it
};

void add(ReadTotals& sum, const ReadTotals& more) {
    sum.count += more.count;
    sum.bytes += more.bytes;
    sum.ticks += more.ticks;
}

void add_copies(const Profile& profile, const ids::CallSite& site, ids::StackId stack, const ReadTotals& copies,
                ReadLine& line) {
    const machine::Rates& rates = profile.rates();
    const auto bytes = static_cast<double>(copies.bytes);
    const auto ns = static_cast<double>(profile.nanoseconds(copies.ticks));
    const double slow_ns = bytes / rates.write_combined_read * 1e9;
    if (ns * most_times_as_fast < slow_ns)
        return;
    add(line.copies, copies);
    const double spared_ns = ns - bytes / rates.host_to_host * 1e9;
    line.copies_ns += ns;
    line.spared_copies_ns += spared_ns;
    line.reads[stack] += spared_ns;
    line.calls.add(site, copies.count);
}

void add_downloads(const Profile& profile, const ids::CallSite& site, ids::StackId stack,
                   const ReadTotals& downloads, ReadLine& line) {
    const machine::Rates& rates = profile.rates();
    const auto bytes = static_cast<double>(downloads.bytes);
    const auto busy_ns = static_cast<double>(profile.nanoseconds(downloads.ticks));
    add(line.downloads, downloads);
    const double spared_ns =
        std::min(busy_ns, bytes / rates.write_combined_read * 1e9) - bytes / rates.host_to_host * 1e9;
    line.downloads_from.launches.insert(site.stack);
    line.host_ns += busy_ns;
    line.spared_host_ns += spared_ns;
    line.reads[stack] += spared_ns;
}

std::string summary_of(const ReadLine& line) {
    std::string text;
    if (line.copies.count != 0)
        text = fmt::format(
            "{} of {} from write-combined memory, {}", count_text(line.copies.count, "copy"),
            bytes_text(static_cast<double>(line.copies.bytes) / static_cast<double>(line.copies.count)),
            rate_text(static_cast<double>(line.copies.bytes) / line.copies_ns * 1e9));
    if (line.downloads.count != 0)
        text += fmt::format(
            "{}{} of {} into write-combined memory; the host was busy for {} after the waits for them",
            text.empty() ? "" : "; ", count_text(line.downloads.count, "download"),
            bytes_text(static_cast<double>(line.downloads.bytes) / static_cast<double>(line.downloads.count)),
            time_text(line.host_ns));
    return text;
}

std::optional<Finding> describe_read(const Profile& profile, ids::StackId, const ReadLine& line) {
    if (line.reads.empty())
        return std::nullopt;
    const machine::Rates& rates = profile.rates();
    Finding finding;
    finding.stack =
        std::ranges::max_element(line.reads, {}, [](const auto& read) { return read.second; })->first;
    finding.allocation_stack = line.allocation.stack;
    finding.allocation_text = profile.call_name(line.allocation.entry) + " " + bytes_text(line.largest);
    finding.summary = summary_of(line);
    finding.evidence = {{"copies", static_cast<double>(line.copies.count)},
                        {"copied_bytes", static_cast<double>(line.copies.bytes)},
                        {"copy_time_ns", line.copies_ns},
                        {"downloads", static_cast<double>(line.downloads.count)},
                        {"downloaded_bytes", static_cast<double>(line.downloads.bytes)},
                        {"host_busy_ns", line.host_ns}};
    finding.advice =
        fmt::format("allocate it without the flag {}, which is only for memory that the host only writes",
                    profile.uses_runtime() ? "cudaHostAllocWriteCombined" : "CU_MEMHOSTALLOC_WRITECOMBINED");
    finding.saving_ns = line.spared_copies_ns + line.spared_host_ns;
    finding.host_cost_ns = line.copies_ns - line.spared_copies_ns;
    finding.host_gain_ns = line.spared_host_ns;
    finding.edit = line.calls.shorter(profile, line.spared_copies_ns);
    std::ranges::copy(lighter_work(profile, line.downloads_from, {.host_ns = line.spared_host_ns}).changes,
                      std::back_inserter(finding.edit.changes));
    finding.basis = fmt::format(
        "{}{}{}, minus the same bytes at {}, the rate at which the host copies other memory",
        line.copies.count != 0 ? "time of the copies" : "",
        line.copies.count != 0 && line.downloads.count != 0 ? ", and " : "",
        line.downloads.count != 0 ? "the host's time after the downloads, at most the time to read them at " +
                                        rate_text(rates.write_combined_read)
                                  : "",
        rate_text(rates.host_to_host));
    finding.confidence = line.spared_copies_ns >= line.spared_host_ns ? Confidence::high : Confidence::low;
    return finding;
}

} // namespace

std::vector<Finding> find_write_combined_reads(const Profile& profile, const LineOf& line_of) {
    std::map<ids::StackId, ReadLine> lines;
    for (const auto& [site, totals] : profile.counted<WriteCombined>().sites()) {
        ReadLine& line = lines[line_of(site.stack)];
        line.allocation = site;
        line.largest = std::max(line.largest, totals.largest);
        for (const auto& [call, copies] : totals.copies)
            add_copies(profile, call, line_of(call.stack), copies, line);
        if (2 * totals.passed_on < totals.downloaded)
            for (const auto& [call, downloads] : totals.downloads)
                add_downloads(profile, call, line_of(call.stack), downloads, line);
    }
    return judge_lines(uma_123, profile, lines, describe_read);
}

constinit const Rule uma_123{.id = "UMA-123",
                             .name = "write-combined-read",
                             .title = "the host reads write-combined memory",
                             .find = &find_write_combined_reads,
                             .counter = &count<WriteCombined>,
                             .price = Price::rates};

} // namespace umadvisor::rules

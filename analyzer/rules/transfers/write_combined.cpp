/// Write-combined memory that the host reads: no cache holds it, so each read goes to the memory by itself.
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/unified/managed_edits.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace umadvisor::rules {
namespace {

/// Copies that read it faster do not show what such memory is slow at.
constexpr double most_times_as_fast = 5;

struct ReadLine {
    ids::CallSite allocation;
    std::uint64_t largest = 0;
    ReadTotals copies, downloads;
    double copies_ns = 0, host_ns = 0; ///< what they took
    double spared_copies_ns = 0, spared_host_ns = 0;
    std::map<std::uint64_t, double> reads; ///< what is spared, by line
    EditedCalls calls;                     ///< copies out of it
    WorkSites downloads_from;              ///< into it
};

void add(ReadTotals& sum, const ReadTotals& more) {
    sum.count += more.count;
    sum.bytes += more.bytes;
    sum.ticks += more.ticks;
}

void add_copies(const Profile& profile, const ids::CallSite& site, std::uint64_t stack,
                const ReadTotals& copies, ReadLine& line) {
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

void add_downloads(const Profile& profile, const ids::CallSite& site, std::uint64_t stack,
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
        text = count_text(line.copies.count, "copy") + " of " +
               bytes_text(static_cast<double>(line.copies.bytes) / static_cast<double>(line.copies.count)) +
               " out of write-combined memory, " +
               rate_text(static_cast<double>(line.copies.bytes) / line.copies_ns * 1e9);
    if (line.downloads.count != 0)
        text +=
            (text.empty() ? "" : "; ") + count_text(line.downloads.count, "download") + " of " +
            bytes_text(static_cast<double>(line.downloads.bytes) / static_cast<double>(line.downloads.count)) +
            " into write-combined memory; the host was busy for " + time_text(line.host_ns) +
            " behind the waits for them";
    return text;
}

Finding describe(const Profile& profile, const ReadLine& line) {
    const machine::Rates& rates = profile.rates();
    Finding finding;
    finding.rule = &uma_123;
    finding.title = finding.rule->title;
    finding.stack =
        std::ranges::max_element(line.reads, {}, [](const auto& read) { return read.second; })->first;
    finding.allocation_stack = line.allocation.stack;
    finding.allocation_text =
        profile.call_name(line.allocation.entry) + " " + bytes_text(static_cast<double>(line.largest));
    finding.summary = summary_of(line);
    finding.evidence = {{"copies", static_cast<double>(line.copies.count)},
                        {"copied_bytes", static_cast<double>(line.copies.bytes)},
                        {"copy_time_ns", line.copies_ns},
                        {"downloads", static_cast<double>(line.downloads.count)},
                        {"downloaded_bytes", static_cast<double>(line.downloads.bytes)},
                        {"host_busy_ns", line.host_ns}};
    finding.advice =
        "allocate it without the flag cudaHostAllocWriteCombined (CU_MEMHOSTALLOC_WRITECOMBINED): that "
        "is for memory that the host only writes";
    finding.saving_ns = line.spared_copies_ns + line.spared_host_ns;
    finding.host_cost_ns = line.copies_ns - line.spared_copies_ns;
    finding.host_gain_ns = line.spared_host_ns;
    finding.edit = line.calls.shorter(profile, line.spared_copies_ns);
    std::ranges::copy(lighter_work(profile, line.downloads_from, {.host_ns = line.spared_host_ns}).changes,
                      std::back_inserter(finding.edit.changes));
    finding.basis =
        std::string(line.copies.count != 0 ? "time of the copies" : "") +
        (line.copies.count != 0 && line.downloads.count != 0 ? ", and " : "") +
        (line.downloads.count != 0 ? "the host's time behind the downloads, no more than reading them at " +
                                         rate_text(rates.write_combined_read) + " takes"
                                   : "") +
        ", less the same bytes at " + rate_text(rates.host_to_host) + ", as the host copies other memory";
    finding.confidence = line.spared_copies_ns >= line.spared_host_ns ? Confidence::high : Confidence::low;
    return finding;
}

} // namespace

std::vector<Finding> find_write_combined_reads(const Profile& profile, const LineOf& line_of) {
    std::map<std::uint64_t, ReadLine> lines;
    for (const auto& [site, totals] : profile.write_combined().sites()) {
        ReadLine& line = lines[line_of(site.stack)];
        line.allocation = site;
        line.largest = std::max(line.largest, totals.largest);
        for (const auto& [call, copies] : totals.copies)
            add_copies(profile, call, line_of(call.stack), copies, line);
        if (2 * totals.passed_on < totals.downloaded)
            for (const auto& [call, downloads] : totals.downloads)
                add_downloads(profile, call, line_of(call.stack), downloads, line);
    }
    std::vector<Finding> findings;
    for (const auto& [stack, line] : lines)
        if (line.spared_copies_ns + line.spared_host_ns >= least_saving_ns)
            findings.push_back(describe(profile, line));
    return findings;
}

constinit const Rule uma_123{.id = "UMA-123",
                             .name = "write-combined-read",
                             .title = "the host reads write-combined memory",
                             .find = &find_write_combined_reads,
                             .price = Price::rates};

} // namespace umadvisor::rules

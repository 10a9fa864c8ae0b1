/// Host memory whose page-locking costs more than it has to: for so few copies that ordinary memory would take
/// less time, slower copies and all; or in one call, whose only thread makes the pages of a large block.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr double least_run_share = 0.005;
/// The saving must be this share of the time of page-locking: prices of ordinary memory are no more exact.
constexpr double least_lock_share = 0.05, sure_lock_share = 0.25;

struct LockLine {
    std::uint64_t count = 0, bytes = 0, copies = 0, entry = 0;
    bool needed = false, registered = false;
    EditedCalls calls; ///< that page-lock
    double lock_ns = 0, unlock_ns = 0;
    double late_unlock_ns = 0;                 ///< estimated
    double touch_ns = 0, slower_copies_ns = 0; ///< of ordinary memory, estimated

    double locked_ns() const { return lock_ns + unlock_ns + late_unlock_ns; }
    double saving_ns() const { return locked_ns() - touch_ns - slower_copies_ns; }
};

double time_of(std::uint64_t bytes, double bytes_per_second) {
    return static_cast<double>(bytes) / bytes_per_second * 1e9;
}

void add(LockLine& line, const tables::LifetimeSite& site, const tables::LockTotals& lock,
         const Profile& profile) {
    const machine::Rates& rates = profile.rates();
    const auto beyond = [](std::uint64_t bytes, double pageable, double pinned) {
        return std::max(0.0, time_of(bytes, pageable) - time_of(bytes, pinned));
    };
    line.count += lock.count;
    line.calls.add(site, lock.count);
    line.bytes += lock.bytes;
    line.copies += lock.copies;
    line.entry = site.entry;
    line.needed |= lock.needed;
    line.registered |= site.memory == trace::Memory::registered;
    line.lock_ns += static_cast<double>(profile.nanoseconds(lock.lock_ticks));
    line.unlock_ns += static_cast<double>(profile.nanoseconds(lock.unlock_ticks));
    // Registered memory was there before: its pages have been touched, and the program frees them in any case.
    if (site.memory == trace::Memory::pinned) {
        line.late_unlock_ns += time_of(lock.late_bytes, rates.host_unlock);
        line.touch_ns += time_of(lock.bytes, rates.host_first_touch);
    }
    line.slower_copies_ns += beyond(lock.up_bytes, rates.pageable_to_device, rates.pinned_to_device) +
                             beyond(lock.down_bytes, rates.device_to_pageable, rates.device_to_pinned);
}

bool is_worth_it(const Profile& profile, const LockLine& line) {
    const double least_ns = std::max(least_run_share * static_cast<double>(profile.recorded_ns()),
                                     least_lock_share * line.locked_ns());
    return line.count != 0 && !line.needed && line.saving_ns() >= least_ns;
}

std::string summary_of(const Profile& profile, const LockLine& line) {
    return fmt::format(
        "{}, for {}: {} to lock and unlock its pages; with pageable memory{} the copies would take {} longer",
        allocations_text(profile, line.entry, static_cast<double>(line.bytes), line.count),
        line.copies == 1 ? "one copy" : count_text(line.copies, "copy"),
        time_text(line.lock_ns + line.unlock_ns),
        line.touch_ns > 0 ? " its first touch would take " + time_text(line.touch_ns) + " and" : "",
        time_text(line.slower_copies_ns));
}

std::optional<Finding> describe_lock(const Profile& profile, ids::StackId, const LockLine& line) {
    if (!is_worth_it(profile, line))
        return std::nullopt;
    Finding finding;
    finding.summary = summary_of(profile, line);
    finding.evidence = {{"allocations", static_cast<double>(line.count)},
                        {"bytes", static_cast<double>(line.bytes)},
                        {"copies", static_cast<double>(line.copies)},
                        {"lock_time_ns", line.lock_ns},
                        {"unlock_time_ns", line.unlock_ns},
                        {"late_unlock_time_ns", line.late_unlock_ns},
                        {"touch_time_ns", line.touch_ns},
                        {"slower_copies_ns", line.slower_copies_ns}};
    if (line.late_unlock_ns >= least_saving_ns)
        finding.details.push_back(fmt::format("the saving includes an estimated {} to unlock pages at the end "
                                              "of the program or in calls that also waited",
                                              time_text(line.late_unlock_ns)));
    finding.advice =
        line.registered
            ? "do not page-lock this memory; copy from and to it directly"
            : "allocate it with malloc or new; if it only receives a copy, touch its pages before that copy";
    finding.saving_ns = line.saving_ns();
    finding.host_cost_ns = line.touch_ns + line.slower_copies_ns;
    finding.host_gain_ns = line.late_unlock_ns;
    finding.edit = line.calls.shorter(profile, finding.saving_ns);
    finding.basis = "time to lock and unlock the pages minus the first touch of pageable memory and its slower "
                    "copies, at the rates of " +
                    profile.rates().whose();
    finding.confidence =
        line.saving_ns() >= sure_lock_share * line.locked_ns() ? Confidence::medium : Confidence::low;
    return finding;
}

std::vector<Finding> locked_for_few_copies(const Profile& profile, const LineOf& line_of) {
    if (memory_use_is_unknown(profile))
        return {};
    std::map<ids::StackId, LockLine> lines;
    for (const auto& [site, totals] : profile.lifetimes().sites())
        if (totals.lock.count != 0 || totals.lock.needed)
            add(lines[line_of(site.stack)], site, totals.lock, profile);
    return judge_lines(uma_409, profile, lines, describe_lock);
}

/// Pages are touched nearly this many times as fast by as many threads. Most hosts have as many cores.
constexpr int touching_threads = 4;
/// For less memory, or a smaller share of the run, the saving does not pay for the threads and the mapping.
constexpr double least_block_bytes = 256.0 * 1024 * 1024;
constexpr double least_block_run_share = 0.05;

/// Page-locked memory whose pages the allocating call makes.
struct BlockLine {
    std::uint64_t count = 0, bytes = 0, entry = 0;
    double lock_ns = 0;
    EditedCalls calls;
};

std::optional<Finding> describe_block(const Profile& profile, ids::StackId, const BlockLine& line) {
    const machine::Rates& rates = profile.rates();
    const double each = static_cast<double>(line.bytes) / static_cast<double>(line.count);
    const double touch_ns = time_of(line.bytes, rates.host_first_touch) / touching_threads;
    const double register_ns =
        time_of(line.bytes, rates.page_lock) + static_cast<double>(line.count) * rates.page_lock_ns;
    const double saving_ns = line.lock_ns - touch_ns - register_ns;
    if (each < least_block_bytes || saving_ns < sure_lock_share * line.lock_ns ||
        line.lock_ns < least_block_run_share * static_cast<double>(profile.net_ns()))
        return std::nullopt;
    return Finding{
        .title = "one thread populates and page-locks a large block",
        .summary =
            fmt::format("{}: {}, in which one thread populates and locks the pages",
                        allocations_text(profile, line.entry, static_cast<double>(line.bytes), line.count),
                        time_text(line.lock_ns)),
        .evidence = {{"allocations", static_cast<double>(line.count)},
                     {"bytes", static_cast<double>(line.bytes)},
                     {"lock_time_ns", line.lock_ns},
                     {"touch_time_ns", touch_ns},
                     {"register_time_ns", register_ns}},
        .advice = fmt::format(
            "map it (mmap, madvise with MADV_HUGEPAGE), touch its pages with several threads, then page-lock "
            "it with {}; or page-lock only as much as is in flight at once, and reuse it",
            profile.uses_runtime() ? "cudaHostRegister" : "cuMemHostRegister"),
        .saving_ns = saving_ns,
        .host_cost_ns = touch_ns + register_ns,
        .edit = line.calls.shorter(profile, saving_ns),
        .basis = fmt::format("time of these calls minus the first touch by {} threads and page-locking of "
                             "populated memory, at the rates of {}",
                             touching_threads, rates.whose()),
        .confidence = Confidence::medium};
}

std::vector<Finding> locked_in_one_block(const Profile& profile, const LineOf& line_of) {
    std::map<ids::StackId, BlockLine> lines;
    for (const auto& [site, totals] : profile.allocations().sites()) {
        if (site.memory != trace::Memory::pinned || site.origin != trace::Origin::program || totals.count == 0)
            continue;
        BlockLine& line = lines[line_of(site.stack)];
        line.count += totals.count;
        line.bytes += totals.bytes;
        line.entry = site.entry;
        line.lock_ns += static_cast<double>(profile.nanoseconds(totals.ticks));
        line.calls.add(site, totals.count, totals.count + totals.failed);
    }
    return judge_lines(uma_409, profile, lines, describe_block);
}

} // namespace

/// Where ordinary memory would do, nothing need be locked, however fast.
std::vector<Finding> find_pinned_once(const Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings = locked_for_few_copies(profile, line_of);
    for (Finding& block : locked_in_one_block(profile, line_of))
        if (std::ranges::find(findings, block.stack, &Finding::stack) == findings.end())
            findings.push_back(std::move(block));
    return findings;
}

constinit const Rule uma_409{.id = "UMA-409",
                             .name = "pinned-once",
                             .title = "host memory page-locked for only a few copies",
                             .find = &find_pinned_once,
                             .price = Price::rates};

} // namespace umadvisor::rules

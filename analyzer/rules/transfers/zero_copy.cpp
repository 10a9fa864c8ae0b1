/// Page-locked memory that kernels reach across the link in launch after launch, though the host does not touch
/// it: most of it read (UMA-121) or most of it written (UMA-122).
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/link_time.hpp"
#include "analyzer/rules/transfers/remote_uses.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace umadvisor::rules {
namespace {

/// What copies take off, and what of the device's memory has to be left.
constexpr double least_gain_share = 0.5, most_memory_share = 0.9;

/// Work and the memory that it reaches, whose price is known.
struct Priced {
    const RemoteWork* work = nullptr;
    const RemoteTotals* totals = nullptr;
    LinkTime time;
    ids::StackId line{};
};

/// Of one line that launches or sets.
struct UseLine {
    std::uint64_t launches = 0, sets = 0, entry = 0;
    double device_ns = 0, spared_ns = 0, bytes = 0;
    std::set<std::uint64_t> kernels;
};

struct CallTime {
    std::uint64_t again = 0, all = 0;
    double device_ns = 0, spared_ns = 0;
};

/// Memory that the same kernels reach has one remedy.
struct Shared {
    std::map<ids::StackId, UseLine> uses;                                ///< by line
    std::map<ids::CallSite, CallTime> calls;                             ///< of these lines
    std::map<ids::StackId, std::pair<RemoteMemory, RemoteSpans>> memory; ///< by line
    double device_ns = 0, spared_ns = 0, written_ns = 0, scattered_ns = 0, remote_bytes = 0;
    bool measured = true; ///< all of it
};

/// The first of the sets that numbers were joined in.
class Joined {
public:
    explicit Joined(std::size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), 0); }
    std::size_t first(std::size_t number) {
        while (parents_[number] != number)
            number = parents_[number] = parents_[parents_[number]];
        return number;
    }
    void join(std::size_t one, std::size_t other) {
        const auto [low, high] = std::minmax({first(one), first(other)});
        parents_[high] = low;
    }

private:
    std::vector<std::size_t> parents_;
};

std::vector<Priced> priced_work(const Profile& profile, const LineOf& line_of) {
    std::vector<Priced> all;
    for (const auto& [work, totals] : profile.counted<RemoteUses>().work()) {
        RemoteReach sum;
        for (const auto& [memory, reach] : totals.again)
            sum.add(reach);
        if (sum.count == 0)
            continue;
        if (const auto time = link_time(profile, work, totals.launches, sum))
            all.push_back({&work, &totals, *time, line_of(work.call.stack)});
    }
    return all;
}

void add_memory(Shared& shared, const RemoteUses& uses, const RemoteMemory& memory, ids::StackId line,
                std::set<RemoteMemory>& seen) {
    if (!seen.insert(memory).second)
        return;
    const RemoteSpans& spans = uses.memory().at(memory);
    auto& [first, sum] = shared.memory.try_emplace(line, memory, RemoteSpans{}).first->second;
    sum.count += spans.count;
    sum.largest = std::max(sum.largest, spans.largest);
    sum.uploads += spans.uploads;
    sum.up_bytes += spans.up_bytes;
    sum.downloads += spans.downloads;
    sum.down_bytes += spans.down_bytes;
    sum.waits += spans.waits;
}

void add_work(Shared& shared, const Priced& priced) {
    std::uint64_t again = 0;
    double spared = 0, written = 0, bytes = 0;
    for (const auto& [memory, reach] : priced.totals->again) {
        again = std::max(again, reach.count);
        const double share = static_cast<double>(reach.bytes) / static_cast<double>(reach.remote_bytes);
        const double ns = static_cast<double>(reach.count) * share * priced.time.spared_ns;
        spared += ns;
        written += reach.writes != 0 ? ns : 0;
        bytes += static_cast<double>(reach.bytes);
    }
    const double device_ns = static_cast<double>(again) * priced.time.each_ns;
    UseLine& line = shared.uses[priced.line];
    (priced.work->is_set() ? line.sets : line.launches) += again;
    line.entry = priced.work->call.entry;
    line.device_ns += device_ns;
    line.spared_ns += spared;
    line.bytes += bytes;
    if (!priced.work->is_set())
        line.kernels.insert(priced.work->group.function);
    CallTime& call = shared.calls[priced.work->call];
    call.again += again;
    call.all += priced.totals->launches.count;
    call.device_ns += device_ns;
    call.spared_ns += spared;
    shared.device_ns += device_ns;
    shared.spared_ns += spared;
    shared.written_ns += written;
    shared.scattered_ns += priced.time.scattered ? spared : 0;
    shared.remote_bytes += bytes;
    shared.measured &= priced.time.measured;
}

std::vector<Shared> shared_memory(const Profile& profile, const LineOf& line_of) {
    const std::vector<Priced> all = priced_work(profile, line_of);
    std::map<ids::StackId, std::size_t> by_memory, by_line; ///< the first work of each
    Joined joined(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        joined.join(i, by_line.try_emplace(all[i].line, i).first->second);
        for (const auto& [memory, reach] : all[i].totals->again)
            joined.join(i, by_memory.try_emplace(line_of(memory.call.stack), i).first->second);
    }
    std::map<std::size_t, Shared> sets;
    std::set<RemoteMemory> seen;
    for (std::size_t i = 0; i < all.size(); ++i) {
        Shared& shared = sets[joined.first(i)];
        add_work(shared, all[i]);
        for (const auto& [memory, reach] : all[i].totals->again)
            add_memory(shared, profile.counted<RemoteUses>(), memory, line_of(memory.call.stack), seen);
    }
    std::vector<Shared> result;
    for (auto& [first, shared] : sets)
        result.push_back(std::move(shared));
    return result;
}

RemoteSpans spans_of(const Shared& shared) {
    RemoteSpans sum;
    for (const auto& [line, memory] : shared.memory) {
        const RemoteSpans& spans = memory.second;
        sum.largest += spans.largest;
        sum.uploads += spans.uploads;
        sum.up_bytes += spans.up_bytes;
        sum.downloads += spans.downloads;
        sum.down_bytes += spans.down_bytes;
        sum.waits += spans.waits;
    }
    return sum;
}

double copies_ns(const Profile& profile, const RemoteSpans& spans) {
    const machine::Rates& rates = profile.rates();
    return static_cast<double>(spans.uploads + spans.downloads + spans.waits) * rates.small_copy_ns +
           static_cast<double>(spans.up_bytes) / rates.pinned_to_device * 1e9 +
           static_cast<double>(spans.down_bytes) / rates.device_to_pinned * 1e9;
}

/// Beside the most that the program has on the device.
bool fits(const Profile& profile, const RemoteSpans& spans) {
    std::uint64_t peak = 0, size = UINT64_MAX;
    for (const auto& [site, totals] : profile.lifetimes().sites())
        if (site.memory == trace::Memory::device)
            peak = std::max(peak, totals.peak->peak_bytes);
    for (const trace::Device& device : profile.dictionary().devices)
        if (device.memory_bytes != 0)
            size = std::min(size, device.memory_bytes);
    return static_cast<double>(peak) + static_cast<double>(spans.largest) <=
           most_memory_share * static_cast<double>(size);
}

std::string work_text(const Profile& profile, const UseLine& line) {
    return line.launches != 0 ? fmt::format("{} of {}", count_text(line.launches, "launch"),
                                            kernels_text(profile, line.kernels))
                              : fmt::format("{}, {} times", profile.call_name(line.entry), line.sets);
}

std::string memory_text(const Profile& profile, const RemoteMemory& memory, const RemoteSpans& spans) {
    return profile.call_name(memory.call.entry) + " " + bytes_text(spans.largest);
}

std::string advice_on(const Profile& profile, const Shared& shared, bool written) {
    const bool runtime = profile.uses_runtime();
    const std::string up = runtime ? "cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream)"
                                   : "cuMemcpyHtoDAsync(device, host, bytes, stream)";
    const std::string down = runtime ? "cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream)"
                                     : "cuMemcpyDtoHAsync(host, device, bytes, stream)";
    const std::string back = "copy what the host reads once, after the last of them: " + down;
    const bool mapped =
        std::ranges::all_of(shared.memory, [](const auto& each) { return each.second.first.mapped; });
    if (mapped)
        return "create this memory on the device (cuMemCreate with CU_MEM_LOCATION_TYPE_DEVICE); " + back;
    if (written)
        return "let them write device memory, and " + back;
    return fmt::format(
        "copy it to device memory after the host has filled it, {}, and pass that copy to the kernels{}", up,
        spans_of(shared).downloads != 0 ? "; " + back : "");
}

void add_places(const Profile& profile, const Shared& shared, ids::StackId use, ids::StackId memory,
                Finding& finding) {
    constexpr std::size_t most_places = 8;
    for (const auto& [line, each] : shared.uses)
        if (line != use && finding.places.size() < most_places)
            finding.places.emplace_back(
                fmt::format("so {}{}", each.launches != 0 ? "do " : "does ", work_text(profile, each)), line);
    for (const auto& [line, each] : shared.memory)
        if (line != memory && finding.places.size() < most_places)
            finding.places.emplace_back("this memory, too: " + memory_text(profile, each.first, each.second),
                                        line);
}

timeline::Edit edit_of(const Shared& shared, double added_ns) {
    timeline::Edit edit;
    for (const auto& [site, call] : shared.calls) {
        timeline::Change change;
        change.site = site;
        change.what = timeline::Change::What::shorter;
        change.share = static_cast<double>(call.again) / static_cast<double>(std::max(call.again, call.all));
        change.less_share = std::min(1.0, call.spared_ns / call.device_ns);
        change.added_ns = edit.changes.empty() ? added_ns : 0;
        edit.changes.push_back(change);
    }
    return edit;
}

Finding describe(const Profile& profile, const Shared& shared) {
    const machine::Rates& rates = profile.rates();
    const RemoteSpans spans = spans_of(shared);
    const bool written = 2 * shared.written_ns > shared.spared_ns;
    const auto& [use_line, use] =
        *std::ranges::max_element(shared.uses, {}, [](const auto& each) { return each.second.spared_ns; });
    const auto& [memory_line, memory] = *std::ranges::max_element(
        shared.memory, {}, [](const auto& each) { return each.second.second.largest; });
    const double added_ns = copies_ns(profile, spans);
    std::uint64_t launches = 0, sets = 0;
    for (const auto& [line, each] : shared.uses) {
        launches += each.launches;
        sets += each.sets;
    }
    Finding finding;
    finding.rule = written ? &uma_122 : &uma_121;
    finding.title = finding.rule->title;
    finding.stack = use_line;
    finding.allocation_stack = memory_line;
    finding.allocation_text = memory_text(profile, memory.first, memory.second);
    const auto times = static_cast<double>(use.launches + use.sets);
    finding.summary = fmt::format("{}: {} each, as long as {}{} of page-locked memory takes across the link; "
                                  "the host does not touch it in between",
                                  work_text(profile, use), time_text(use.device_ns / times),
                                  written ? "writing " : "reaching ", bytes_text(use.bytes / times));
    finding.evidence = {
        {"launches", static_cast<double>(launches)},
        {"memory_sets", static_cast<double>(sets)},
        {"bytes", static_cast<double>(spans.largest)},
        {"remote_bytes", shared.remote_bytes},
        {"device_time_ns", shared.device_ns},
        {"copied_bytes", static_cast<double>(spans.up_bytes) + static_cast<double>(spans.down_bytes)},
        {"copy_time_ns", added_ns}};
    add_places(profile, shared, use_line, memory_line, finding);
    finding.advice = advice_on(profile, shared, written);
    finding.saving_ns = shared.spared_ns - added_ns;
    finding.edit = edit_of(shared, added_ns);
    finding.basis = fmt::format(
        "device time of this work{}, at most the link's time for this memory at {}{}, minus the same in device "
        "memory and copies of {} at {}, measured on {}",
        shared.measured ? "" : fmt::format(" (memory sets at {})", rate_text(rates.device_to_pinned)),
        rate_text(rates.remote_access),
        shared.scattered_ns > 0 ? ", or for a word of each thread by itself" : "",
        bytes_text(static_cast<double>(spans.up_bytes) + static_cast<double>(spans.down_bytes)),
        rate_text(rates.pinned_to_device), rates.whose());
    finding.confidence = 2 * shared.scattered_ns > shared.spared_ns ? Confidence::low : Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_remote_uses(const Profile& profile, const LineOf& line_of) {
    // What is missing may be the wait behind which the host changes the memory.
    if (work_is_unknown(profile) || !profile.trace().file.completeness().whole())
        return {};
    std::vector<Finding> findings;
    for (const Shared& shared : shared_memory(profile, line_of)) {
        Finding finding = describe(profile, shared);
        if (finding.saving_ns >= std::max(least_saving_ns, least_gain_share * shared.spared_ns) &&
            fits(profile, spans_of(shared)))
            findings.push_back(std::move(finding));
    }
    return findings;
}

constinit const Rule uma_121{.id = "UMA-121",
                             .name = "zero-copy-reread",
                             .title = "kernels reach page-locked memory across the link again and again",
                             .find = &find_remote_uses,
                             .counter = &count<RemoteUses>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

constinit const Rule uma_122{.id = "UMA-122",
                             .name = "remote-write",
                             .title = "kernels write page-locked memory across the link again and again",
                             .find = &find_remote_uses,
                             .counter = &count<RemoteUses>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

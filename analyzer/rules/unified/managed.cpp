#include "analyzer/rules/unified/managed.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/rules/correctness/missing_sync.hpp"
#include "analyzer/rules/unified/neighbours.hpp"
#include "analyzer/rules/unified/remote_atomics.hpp"
#include "analyzer/rules/unified/verdict_text.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace umadvisor::rules {
namespace {

using managed::VerdictKind;

using Memories = std::map<ids::AllocationSite, ManagedMemory>;

/// By line. No advice on what umadvisor made managed: it is not the program's managed memory.
Memories memories_of(const Profile& profile, const FirstLaunches& firsts, const LineOf& line_of) {
    Memories memories;
    const auto& allocations = profile.allocations().sites();
    for (const auto& [site, activity] : profile.managed().sites()) {
        if (activity.empty() || site.origin != trace::Origin::program)
            continue;
        ids::AllocationSite line = site;
        line.stack = line_of(site.stack);
        ManagedMemory& memory = memories.try_emplace(line, ManagedMemory{profile, firsts, line}).first->second;
        memory.activity.add(activity);
        if (const auto found = allocations.find(site); found != allocations.end()) {
            reader::add_saturated(memory.allocations, found->second.count);
            reader::add_saturated(memory.bytes, found->second.bytes);
            std::ranges::copy(found->second.first_launches, std::back_inserter(memory.first_launches));
        }
    }
    const managed::Account account = profile.managed().account();
    for (auto& [line, memory] : memories) {
        memory.moved = account.moved(memory.activity);
        memory.basis = account.basis(memory.activity);
    }
    return memories;
}

bool takes_turns(VerdictKind kind) {
    return kind <= VerdictKind::ping_pong;
}

struct Place {
    Lead kind;
    std::string what;
    ids::StackId stack{};
};

/// Lines that took part, each once; those where the change begins come first.
std::vector<Place> places_of(const ManagedRule& rule, const Habit& habit, const LineOf& line_of) {
    std::vector<Place> places;
    for (const facts::KernelSite& kernel : habit.totals.kernels)
        places.push_back({Lead::launch,
                          kernels_text(habit.memory.profile, {kernel.function}) + " is launched here",
                          kernel.stack});
    // A verdict names the first few of its lines; where memory goes back and forth, all of the host's lines
    // take part.
    const std::set<std::uint64_t>* const codes = takes_turns(rule.kind) ? nullptr : &habit.totals.host_codes;
    for (auto& [what, code] : host_lines(habit.memory, codes, rule.host_line, line_of))
        places.push_back({Lead::host, std::move(what), code});
    for (const ids::StackId stack : habit.totals.prefetches)
        places.push_back({Lead::prefetch, "prefetched here", stack});
    std::stable_partition(places.begin(), places.end(),
                          [&rule](const Place& place) { return place.kind == rule.lead; });
    // First of all those inside the ranges that are looked at.
    std::stable_partition(places.begin(), places.end(),
                          [](const Place& place) { return !place.stack.outside(); });
    std::set<ids::StackId> seen;
    std::erase_if(places, [&](const Place& place) {
        return !place.stack.known() || !seen.insert(line_of(place.stack)).second;
    });
    return places;
}

/// The line where the change begins is the finding's own.
void add_places(Finding& finding, std::vector<Place> places, const LineOf& line_of) {
    finding.stack = places.empty() ? finding.allocation_stack : line_of(places.front().stack);
    finding.touched_by_host = !places.empty() && places.front().kind == Lead::host;
    for (std::size_t i = 1; i < places.size(); ++i)
        finding.places.emplace_back(std::move(places[i].what), places[i].stack);
}

std::string summary(const ManagedRule& rule, const Habit& habit) {
    const std::string text = verdict_text(rule.kind, habit.totals);
    if (rule.lead != Lead::launch || habit.totals.kernels.empty())
        return text;
    std::set<std::uint64_t> functions;
    for (const facts::KernelSite& kernel : habit.totals.kernels)
        functions.insert(kernel.function);
    return fmt::format("launch of {}: {}", kernels_text(habit.memory.profile, functions), text);
}

timeline::Edit edit_of(const Habit& habit, const Spared& spared) {
    WorkSites sites;
    for (const facts::KernelSite& kernel : habit.totals.kernels)
        sites.launches.insert(kernel.stack);
    // Prefetches that do not go come late: they and the faults of the kernels share the same time.
    (spared.prefetches != 0 ? sites.prefetches : sites.launches)
        .insert(habit.totals.prefetches.begin(), habit.totals.prefetches.end());
    return lighter_work(habit.memory.profile, sites, spared);
}

Finding describe(const ManagedRule& rule, const Habit& habit, const LineOf& line_of) {
    const ManagedMemory& memory = habit.memory;
    Advice advice = rule.advise(habit);
    Finding finding;
    finding.rule = rule.rule;
    finding.title = rule.rule->title;
    finding.summary = summary(rule, habit);
    finding.evidence = {{"allocations", static_cast<double>(habit.totals.allocations)},
                        {"allocation_bytes", static_cast<double>(memory.bytes)},
                        {"times", static_cast<double>(habit.totals.times)},
                        {"bytes", static_cast<double>(habit.totals.bytes)}};
    std::ranges::move(advice.evidence, std::back_inserter(finding.evidence));
    finding.details = std::move(advice.details);
    if (memory.site.symbol != 0)
        finding.details.emplace_back(
            "managed variables of one module lie side by side and move together: these "
            "lines may use another of them");
    finding.allocation_stack = memory.site.made_at();
    finding.allocation_text = allocation_text(memory);
    std::vector<Place> places = places_of(rule, habit, line_of);
    if (!places.empty() && places.front().kind == rule.lead)
        for (CodeEdit& edit : advice.at_lead)
            finding.code_edits.push_back({edit.kind, std::move(edit.text), line_of(places.front().stack)});
    add_places(finding, std::move(places), line_of);
    std::ranges::move(advice.places, std::back_inserter(finding.places));
    finding.advice = std::move(advice.text);
    finding.saving_ns = within_recorded(memory.profile, advice.spared.all_ns());
    finding.edit = edit_of(habit, advice.spared);
    finding.basis = std::move(advice.basis);
    finding.confidence = advice.confidence;
    return finding;
}

/// How often a kernel pulls one memory over, and how much of it each time.
struct Pull {
    const ManagedMemory* memory;
    double times, bytes; ///< each time
};
using Pulls = std::map<facts::KernelSite, std::vector<Pull>>;

Pulls pulls_of(const Memories& memories) {
    constexpr std::size_t most = 64; // of one kernel
    Pulls pulls;
    for (const auto& [line, memory] : memories)
        for (const auto& [kind, totals] : memory.activity.verdicts.kinds()) {
            if (!takes_turns(kind) || totals.times == 0)
                continue;
            const auto times = static_cast<double>(totals.times);
            for (const facts::KernelSite& kernel : totals.kernels)
                if (std::vector<Pull>& of_kernel = pulls[kernel]; of_kernel.size() < most)
                    of_kernel.push_back({&memory, times, static_cast<double>(totals.bytes) / 2 / times});
        }
    return pulls;
}

/// The part of a kernel's faults that this memory pays for. A launch takes the faults on all its memory in the
/// same batches, and each allocation pays by its bytes. An allocation that migrates less often pays in fewer
/// launches.
double share_of_faults(const Pulls& pulls, const ManagedMemory& memory, const managed::VerdictTotals& totals) {
    std::map<ids::AllocationSite, Pull> others;
    for (const facts::KernelSite& kernel : totals.kernels)
        if (const auto found = pulls.find(kernel); found != pulls.end())
            for (const Pull& pull : found->second)
                if (pull.memory != &memory)
                    others.try_emplace(pull.memory->site, pull);
    const auto times = static_cast<double>(totals.times);
    const double own = static_cast<double>(totals.bytes) / 2 / times;
    if (others.empty() || own == 0)
        return 1;
    std::vector<Pull> by_times;
    double beside = 0;
    for (const auto& [other, pull] : others) {
        by_times.push_back(pull);
        beside += pull.bytes;
    }
    std::ranges::sort(by_times, {}, &Pull::times);
    double shared = 0, at = 0;
    for (const Pull& pull : by_times) {
        const double until = std::min(pull.times, times);
        shared += (until - at) * own / (own + beside);
        at = until;
        beside = std::max(0.0, beside - pull.bytes);
    }
    return (shared + times - at) / times;
}

/// Whether both count the same moves, at least in part.
bool same_moves(VerdictKind a, VerdictKind b) {
    const auto are = [a, b](VerdictKind one, VerdictKind other) {
        return (a == one && b == other) || (a == other && b == one);
    };
    const auto with_turns = [a, b](VerdictKind other) {
        return (takes_turns(a) && b == other) || (takes_turns(b) && a == other);
    };
    return are(VerdictKind::first_touch, VerdictKind::host_populate) ||
           are(VerdictKind::late_prefetch, VerdictKind::host_populate) ||
           are(VerdictKind::late_prefetch, VerdictKind::prefetch_ping_pong) ||
           are(VerdictKind::unused_prefetch, VerdictKind::prefetch_ping_pong) ||
           with_turns(VerdictKind::host_populate) || with_turns(VerdictKind::late_prefetch) ||
           with_turns(VerdictKind::oversubscribed);
}

struct Found {
    VerdictKind kind;
    Finding finding;
};

/// What counts the moves of a finding that saves more becomes a part of that.
std::vector<Finding> fold_moves(std::vector<Found> all) {
    std::ranges::stable_sort(all, std::ranges::greater{},
                             [](const Found& found) { return found.finding.saving_ns; });
    std::vector<Found> kept;
    for (Found& each : all) {
        const auto larger = std::ranges::find_if(
            kept, [&each](const Found& other) { return same_moves(each.kind, other.kind); });
        if (larger == kept.end()) {
            kept.push_back(std::move(each));
            continue;
        }
        fold(larger->finding, each.finding);
    }
    std::vector<Finding> findings;
    for (Found& each : kept)
        findings.push_back(std::move(each.finding));
    return findings;
}

/// Other findings on the memory that slows these kernels down become parts of this one. Where the memory
/// thrashes, the driver leaves it on the host for that reason, and the finding is the rule thrashing's. Where
/// other kernels take part in the thrashing, they wait for faults, and both findings stay.
void take_place(const ManagedMemory& memory, RemoteAtomics& remote, std::vector<Found>& found) {
    std::erase_if(found, [&](const Found& each) {
        const bool same =
            each.kind == VerdictKind::ping_pong || each.kind == VerdictKind::false_sharing ||
            each.kind == VerdictKind::remote_access ||
            (each.kind == VerdictKind::thrashing &&
             std::ranges::all_of(memory.find(each.kind)->kernels, [&remote](const facts::KernelSite& kernel) {
                 return remote.kernels.contains(kernel.function);
             }));
        if (same && each.kind == VerdictKind::thrashing) {
            remote.finding.rule = each.finding.rule;
            remote.finding.title = each.finding.title;
            remote.finding.places = each.finding.places;
            remote.finding.details.push_back(each.finding.summary);
            if (each.finding.saving_ns > remote.finding.saving_ns) {
                remote.finding.saving_ns = each.finding.saving_ns;
                remote.finding.edit = each.finding.edit;
                remote.finding.basis = each.finding.basis;
            }
        } else if (same) {
            fold(remote.finding, each.finding);
        }
        return same;
    });
}

/// The call and the size of one allocation of `count`, which have `bytes` altogether.
std::string text_of(const Profile& profile, const ids::AllocationSite& site, std::uint64_t count,
                    std::uint64_t bytes) {
    if (site.symbol != 0)
        return "variable " + reader::shown_name(profile.dictionary().string(site.symbol));
    if (count == 0) // no allocation of exactly this call site was recorded
        return profile.call_name(site.entry);
    const auto each = static_cast<double>(bytes) / static_cast<double>(count);
    return fmt::format("{} {}{}", profile.call_name(site.entry), bytes_text(each),
                       count > 1 ? fmt::format(" x {}", count) : "");
}

double nanoseconds_at(std::uint64_t bytes, double bytes_per_second) {
    return static_cast<double>(bytes) / bytes_per_second * 1e9;
}

} // namespace

std::vector<std::pair<std::string, ids::StackId>> host_lines(const ManagedMemory& memory,
                                                             const std::set<std::uint64_t>* codes,
                                                             std::string_view what, const LineOf& line_of) {
    constexpr std::size_t most_lines = 3;
    struct Line {
        double faults = 0;
        std::uint64_t code = 0, code_faults = 0; ///< the code with most of them
    };
    std::map<ids::StackId, Line> by_line;
    double all = 0;
    for (const auto& [code, access] : memory.activity.host_codes) {
        if (code == 0 || (codes != nullptr && !codes->contains(code)))
            continue;
        Line& line = by_line[line_of(ids::StackId(code))];
        line.faults += static_cast<double>(access.faults);
        all += static_cast<double>(access.faults);
        if (line.code == 0 || access.faults > line.code_faults) {
            line.code = code;
            line.code_faults = access.faults;
        }
    }
    if (codes != nullptr)
        for (const std::uint64_t code : *codes) // known without faults: by samples
            if (Line& line = by_line[line_of(ids::StackId(code))]; line.code == 0)
                line.code = code;
    std::vector<Line> lines;
    for (const auto& [stack, line] : by_line)
        lines.push_back(line);
    std::ranges::stable_sort(lines, std::ranges::greater{}, &Line::faults);
    const bool one = !lines.empty() && all > 0 && lines.front().faults * 2 >= all;
    lines.resize(std::min(lines.size(), one ? 1 : most_lines));
    std::vector<std::pair<std::string, ids::StackId>> result;
    for (const Line& line : lines)
        result.emplace_back(lines.size() == 1 || all == 0 ? std::string(what)
                                                          : fmt::format("{} ({} of its page faults)", what,
                                                                        text::percent_text(line.faults / all)),
                            ids::StackId(line.code));
    return result;
}

std::string allocation_text(const ManagedMemory& memory) {
    return text_of(memory.profile, memory.site, memory.allocations, memory.bytes);
}

std::string allocation_text(const Profile& profile, const ids::AllocationSite& site) {
    const auto& sites = profile.allocations().sites();
    const auto found = sites.find(site);
    return found == sites.end() ? text_of(profile, site, 0, 0)
                                : text_of(profile, site, found->second.count, found->second.bytes);
}

const managed::VerdictTotals* ManagedMemory::find(VerdictKind kind) const {
    const auto found = activity.verdicts.kinds().find(kind);
    return found == activity.verdicts.kinds().end() ? nullptr : &found->second;
}

std::uint64_t Habit::bytes_to_device() const {
    return memory.basis == managed::MovedBasis::none ? totals.bytes
                                                     : std::min(totals.bytes, memory.moved.to_device);
}

std::uint64_t Habit::bytes_to_host() const {
    return memory.basis == managed::MovedBasis::none ? totals.bytes
                                                     : std::min(totals.bytes, memory.moved.to_host);
}

managed::MovedBytes Habit::bytes_both_ways() const {
    const std::uint64_t half = totals.bytes / 2;
    if (memory.basis == managed::MovedBasis::none)
        return {half, half};
    return {std::min(half, memory.moved.to_device), std::min(half, memory.moved.to_host)};
}

Confidence Habit::confidence() const {
    switch (memory.basis) {
    case managed::MovedBasis::counted:
        return Confidence::high;
    case managed::MovedBasis::none:
        return Confidence::low;
    default:
        return Confidence::medium;
    }
}

const Rule& rule_of(VerdictKind kind) {
    return *(*std::ranges::find(managed_rules, kind, &ManagedRule::kind))->rule;
}

/// A launch's faults have their price, however little they bring to the device.
double Habit::by_faults(const managed::MovedBytes& moved, double times, std::uint64_t written) const {
    const machine::Rates& rates = memory.profile.rates();
    double ns = 0;
    if (moved.to_device != 0)
        ns += std::max(nanoseconds_at(moved.to_device, rates.fault_to_device),
                       times * rates.device_fault_ns * share_of_faults);
    if (moved.to_host != 0)
        ns += nanoseconds_at(moved.to_host - written, rates.fault_to_host) +
              nanoseconds_at(written, rates.fault_to_host_written) + times * rates.host_fault_ns;
    return ns;
}

double Habit::by_prefetch(const managed::MovedBytes& moved, std::uint64_t times, std::uint64_t written) const {
    const machine::Rates& rates = memory.profile.rates();
    const int ways = (moved.to_device != 0) + (moved.to_host != 0);
    return nanoseconds_at(moved.to_device, rates.prefetch_to_device) +
           nanoseconds_at(moved.to_host, rates.prefetch_to_host) +
           nanoseconds_at(written, rates.host_first_write) +
           static_cast<double>(times) * ways * (rates.prefetch_call_ns + rates.prefetch_block_ns);
}

Spared Habit::spared_faults(const managed::MovedBytes& moved) const {
    const auto times = static_cast<double>(totals.times);
    return {.device_ns = by_faults({moved.to_device, 0}, times),
            .host_ns = by_faults({0, moved.to_host}, times)};
}

std::string Habit::prices() const {
    return "at the rates of " + memory.profile.rates().whose();
}

std::vector<Finding> find_managed(const Profile& profile, const LineOf& line_of) {
    const FirstLaunches firsts = first_launches_of(profile);
    const std::set<ids::StackId> racing = lines_that_race(profile, line_of);
    const Memories memories = memories_of(profile, firsts, line_of);
    const Pulls pulls = pulls_of(memories);
    const PlacedByLine placed = placed_by_line(profile, line_of);
    std::vector<OnMemory> findings;
    for (const auto& [line, memory] : memories) {
        std::vector<Found> found;
        for (const ManagedRule* const rule : managed_rules) {
            const managed::VerdictTotals* const totals = memory.find(rule->kind);
            if (totals == nullptr || !holds(profile, rule->kind, *totals) ||
                ((takes_turns(rule->kind) || rule->kind == VerdictKind::read_back) &&
                 racing.contains(line.stack)))
                continue;
            const double share =
                takes_turns(rule->kind) && totals->times != 0 ? share_of_faults(pulls, memory, *totals) : 1;
            Finding finding = describe(*rule, {memory, *totals, share}, line_of);
            if (finding.saving_ns >= least_saving_ns)
                found.push_back({rule->kind, std::move(finding)});
        }
        if (std::optional<RemoteAtomics> remote = remote_atomics(memory, placed, line_of);
            remote && remote->finding.saving_ns >= least_saving_ns) {
            take_place(memory, *remote, found);
            findings.push_back({&memory, std::move(remote->finding)});
        }
        for (Finding& each : fold_moves(std::move(found)))
            findings.push_back({&memory, std::move(each)});
        if (auto between = find_device_ping_pong(memory, line_of);
            between && !racing.contains(line.stack) && between->saving_ns >= least_saving_ns)
            findings.push_back({&memory, std::move(*between)});
        if (auto passed = find_passed_on(memory, line_of); passed && passed->saving_ns >= least_saving_ns)
            findings.push_back({&memory, std::move(*passed)});
    }
    for (OnMemory& each : findings)
        take_inside_part(profile, each.memory->activity, each.finding);
    return with_neighbours(std::move(findings), line_of);
}

} // namespace umadvisor::rules

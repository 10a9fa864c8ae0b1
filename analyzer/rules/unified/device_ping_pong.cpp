/// Managed memory that devices take from each other, launch after launch.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

/// Memory that moved there and back twice alternates.
constexpr std::uint64_t least_turns = 4;
/// If a smaller part moves each time, the devices have to exchange it: it is the edge of what each works on.
constexpr std::uint64_t exchanged_part = 8;

struct Bounce {
    facts::DevicePair pair;
    managed::DeviceTurns turns;
    std::uint64_t bytes = 0; ///< that moved between the two, at the least
};

/// The pair of devices between which most bytes move.
std::optional<Bounce> bounce_of(const ManagedMemory& memory) {
    std::optional<Bounce> most;
    for (const auto& [pair, turns] : memory.activity.devices.pairs()) {
        const std::uint64_t bytes =
            std::min(turns.whole_bytes, memory.profile.managed().totals().between_devices(turns.known_bytes));
        if (turns.turns >= least_turns && bytes != 0 && bytes >= turns.whole_bytes / exchanged_part &&
            (!most || bytes > most->bytes))
            most = {pair, turns, bytes};
    }
    return most;
}

/// Lines that launch the kernels whose faults migrated it, those with the most bytes first.
std::vector<facts::KernelSite> pullers(const ManagedMemory& memory) {
    std::vector<std::pair<double, facts::KernelSite>> shares;
    for (const auto& [site, share] : memory.activity.kernels.sites)
        shares.emplace_back(share.bytes, site);
    std::ranges::stable_sort(shares, std::ranges::greater{}, &std::pair<double, facts::KernelSite>::first);
    std::vector<facts::KernelSite> sites;
    for (const auto& [bytes, site] : shares)
        if (bytes > 0)
            sites.push_back(site);
    return sites;
}

/// Faults do not show whether both devices only read: `a[i] += 1` begins with a read fault. So the advice names
/// the remedy for each case.
std::string advise_devices(const ManagedMemory& memory, const Bounce& bounce) {
    return fmt::format("split the allocation so that each device has its own part; or {} before each launch, "
                       "if one device produces what the other uses; or {} for device {} and {} for device {}, "
                       "which then accesses it remotely; if both only read it, {} gives each device a copy",
                       prefetch_to_device(memory), advise_device(memory, "SetPreferredLocation"),
                       bounce.pair.low, advise_device(memory, "SetAccessedBy"), bounce.pair.high,
                       advise_device(memory, "SetReadMostly"));
}

void add_places(Finding& finding, const std::vector<facts::KernelSite>& kernels, const ManagedMemory& memory,
                const LineOf& line_of) {
    finding.stack = kernels.empty() ? finding.allocation_stack : line_of(kernels.front().stack);
    std::set<ids::StackId> seen{finding.stack};
    for (const facts::KernelSite& kernel : kernels)
        if (kernel.stack.known() && seen.insert(line_of(kernel.stack)).second)
            finding.places.emplace_back(kernels_text(memory.profile, {kernel.function}) + " is launched here",
                                        kernel.stack);
}

} // namespace

std::optional<Finding> find_device_ping_pong(const ManagedMemory& memory, const LineOf& line_of) {
    const std::optional<Bounce> bounce = bounce_of(memory);
    if (!bounce)
        return std::nullopt;
    const machine::Rates& rates = memory.profile.rates();
    const auto bytes = static_cast<double>(bounce->bytes);
    const double fault_ns = bytes / rates.fault_to_device * 1e9, remote_ns = bytes / rates.to_peer(false) * 1e9;
    const bool estimated = memory.profile.managed().totals().between_devices_is_estimated();
    const std::string devices =
        fmt::format("between device {} and device {}", bounce->pair.low, bounce->pair.high);

    Finding finding;
    finding.rule = &uma_202;
    finding.title = "ping-pong of managed memory " + devices;
    finding.summary = fmt::format(
        "launches on both devices use it in turn, {}, and each migrates it by page faults: {}{} moved {}",
        count_text(bounce->turns.turns, "time"), estimated ? "at least " : "", bytes_text(bytes), devices);
    finding.evidence = {{"allocations", static_cast<double>(memory.allocations)},
                        {"allocation_bytes", static_cast<double>(memory.bytes)},
                        {"times", static_cast<double>(bounce->turns.turns)},
                        {"bytes_between_devices", bytes},
                        {"fault_cost_ns", fault_ns},
                        {"remote_cost_ns", remote_ns}};
    finding.allocation_stack = memory.site.made_at();
    finding.allocation_text = allocation_text(memory);
    const std::vector<facts::KernelSite> kernels = pullers(memory);
    add_places(finding, kernels, memory, line_of);
    finding.advice = advise_devices(memory, *bounce);
    const double spared_ns = std::max(0.0, fault_ns - remote_ns);
    WorkSites sites;
    for (const facts::KernelSite& kernel : kernels)
        sites.launches.insert(kernel.stack);
    finding.saving_ns = within_recorded(memory.profile, spared_ns);
    finding.edit = lighter_work(memory.profile, sites, {.device_ns = spared_ns});
    finding.basis =
        fmt::format("the bytes that moved between devices, by page faults at {} instead of a prefetch at {}, "
                    "measured on {}; separate parts or copies save the prefetch, too",
                    rate_text(rates.fault_to_device), rate_text(rates.to_peer(false)), rates.whose());
    finding.confidence = estimated ? Confidence::low : Confidence::medium;
    return finding;
}

std::optional<Finding> find_passed_on(const ManagedMemory& memory, const LineOf& line_of) {
    const std::pair<const facts::DevicePair, managed::DeviceTurns>* most = nullptr;
    managed::PassedOn passed;
    bool only_read = false;
    for (const auto& each : memory.activity.devices.pairs())
        for (const auto& [of_pair, is_read] : {std::pair{each.second.read, true}, {each.second.torn, false}})
            if (of_pair.calls >= least_turns && of_pair.bytes > passed.bytes) {
                most = &each;
                passed = of_pair;
                only_read = is_read;
            }
    if (most == nullptr)
        return std::nullopt;
    const auto& [pair, turns] = *most;
    const machine::Rates& rates = memory.profile.rates();
    const auto bytes = static_cast<double>(passed.bytes);
    const double moved_ns = bytes / rates.to_peer(false) * 1e9;

    Finding finding;
    finding.rule = &uma_210;
    finding.title = fmt::format("prefetches move memory between device {} and device {} again and again",
                                pair.low, pair.high);
    finding.summary = fmt::format("{} brought it to one device while the other had it, {}, {}: {}",
                                  prefetch_name(memory), count_text(passed.calls, "time"), bytes_text(bytes),
                                  only_read ? "kernels of both only read it"
                                            : "kernels that use it were still running on the other when a "
                                              "prefetch took it away, and no call orders them before that "
                                              "prefetch; prefetches that moved it back count as well");
    finding.evidence = {{"allocations", static_cast<double>(memory.allocations)},
                        {"allocation_bytes", static_cast<double>(memory.bytes)},
                        {"times", static_cast<double>(passed.calls)},
                        {"bytes_between_devices", bytes}};
    finding.allocation_stack = memory.site.made_at();
    finding.allocation_text = allocation_text(memory);
    finding.stack = line_of(passed.stack);
    const std::string copies = advise_device(memory, "SetReadMostly");
    finding.advice =
        only_read
            ? fmt::format("{} once, before the first prefetch: a prefetch then gives each device a copy, and "
                          "the next one moves nothing until the data is written",
                          copies)
            : fmt::format("prefetch for each device only the part that its kernels use; where both read all of "
                          "it and write elsewhere, {} before the prefetches gives each a copy",
                          copies);
    WorkSites sites;
    sites.prefetches.insert(passed.stack);
    finding.saving_ns = within_recorded(memory.profile, moved_ns);
    finding.edit = lighter_work(memory.profile, sites, {.prefetch_ns = moved_ns, .prefetches = passed.calls});
    finding.basis = fmt::format("the bytes that went between devices at {}, the price of {}",
                                rate_text(rates.to_peer(false)), rates.whose());
    finding.confidence = only_read ? Confidence::medium : Confidence::low;
    return finding;
}

} // namespace umadvisor::rules

/// Loops that read a scalar back in each round, so that the host cannot run ahead of the device.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/sync/idle_syncs.hpp"
#include "analyzer/rules/transfers/scalar_downloads.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_scalar_rounds = 100;
/// A loop that the device keeps busy gains nothing by running ahead.
constexpr double most_busy = 0.9;

struct ScalarLine {
    std::uint64_t count = 0, rounds = 0, kernels = 0, entry = 0;
    ids::StackId wait_stack{};
    double round_ns = 0, blocked_ns = 0, device_ns = 0;
    bool measured = true; ///< device times of all kernels
    EditedCalls calls;

    bool is_fault() const {
        return rounds >= least_scalar_rounds && measured && device_ns <= most_busy * round_ns;
    }
};

std::uint64_t waits_at(const Profile& profile, const ids::CallSite& site) {
    const auto& sites = profile.counted<IdleSyncs>().sites();
    const auto found = sites.find(site);
    return found == sites.end() ? 0 : found->second.count;
}

void add(ScalarLine& line, const Profile& profile, const ids::CallSite& site, const ScalarTotals& totals) {
    line.entry = site.entry;
    line.calls.add(site, totals.rounds, totals.count);
    if (totals.wait != ids::CallSite{})
        line.calls.add(totals.wait, totals.rounds, waits_at(profile, totals.wait));
    line.count += totals.count;
    line.rounds += totals.rounds;
    line.round_ns += static_cast<double>(profile.nanoseconds(totals.round_ticks));
    line.blocked_ns += static_cast<double>(profile.nanoseconds(totals.blocked_ticks));
    line.wait_stack = totals.wait.stack;
    // Rounding depends on the order of a sum, so it is that of the launches, not of their addresses.
    using Kernel = std::pair<const tables::Launches::Group*, std::uint64_t>;
    std::vector<Kernel> kernels(totals.kernels.begin(), totals.kernels.end());
    std::ranges::sort(kernels, {}, [](const Kernel& each) { return each.first->first; });
    for (const auto& [kernel, count] : kernels) {
        line.kernels += count;
        line.device_ns += kernel->second.usual_ns() * static_cast<double>(count);
        line.measured &= kernel->second.measured != 0;
    }
}

std::optional<Finding> describe_scalars(const Profile& profile, ids::StackId, const ScalarLine& line) {
    if (!line.is_fault())
        return std::nullopt;
    const auto rounds = static_cast<double>(line.rounds);
    Finding finding;
    finding.summary = fmt::format("{} of at most {} in each of {} waits for the kernels before it: {} of the "
                                  "round's {} (the kernels take {})",
                                  profile.call_name(line.entry), bytes_text(scalar_bytes),
                                  count_text(line.rounds, "round"), time_text(line.blocked_ns / rounds),
                                  time_text(line.round_ns / rounds), time_text(line.device_ns / rounds));
    finding.evidence = {{"copies", static_cast<double>(line.count)},
                        {"rounds", rounds},
                        {"kernels", static_cast<double>(line.kernels)},
                        {"time_ns", line.round_ns},
                        {"blocked_ns", line.blocked_ns},
                        {"kernel_ns", line.device_ns}};
    if (line.wait_stack.known())
        finding.places.emplace_back("waited for", line.wait_stack);
    finding.advice = fmt::format("keep the value on the device and read it every k-th round; or copy it with "
                                 "{} into pinned memory, record an event, and look at it one round later",
                                 profile.uses_runtime() ? "cudaMemcpyAsync" : "cuMemcpyDtoHAsync");
    finding.saving_ns = line.blocked_ns;
    finding.edit = line.calls.asynchronous(profile, true);
    finding.basis = "replay of the run without the waits for these copies";
    finding.confidence = Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_scalar_downloads(const Profile& profile, const LineOf& line_of) {
    if (work_is_unknown(profile))
        return {};
    std::map<ids::StackId, ScalarLine> lines;
    for (const auto& [site, totals] : profile.counted<ScalarDownloads>().sites())
        if (profile.counted<ScalarDownloads>().tells_of(site))
            add(lines[line_of(site.stack)], profile, site, totals);
    return judge_lines(uma_112, profile, lines, describe_scalars);
}

constinit const Rule uma_112{.id = "UMA-112",
                             .name = "scalar-download",
                             .title = "a scalar read back in every round",
                             .find = &find_scalar_downloads,
                             .counter = &count<ScalarDownloads>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .in_statement = true,
                             .order = OrderUse::wait};

} // namespace umadvisor::rules

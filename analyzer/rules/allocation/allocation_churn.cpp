/// Device and managed memory that one line allocates again and again while the program runs: both calls hold
/// the host, and a free waits for all that the device has to do. Of managed memory the driver also makes page
/// tables each time, and the pages come into being anew.
#include "analyzer/rules/allocation/churn_lines.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::rules {
namespace {

/// Memory that a line allocates a second time may belong to the program's next phase, unless this costs much of
/// the run; from the third time on it counts as allocated repeatedly.
bool is_churn(const Profile& profile, const ChurnLine& line) {
    constexpr std::uint64_t surely_rounds = 3;
    constexpr double much_of_run = 0.01;
    const bool surely = line.pairs >= surely_rounds * std::max<std::uint64_t>(line.peak_live, 1);
    const double least_ns = surely ? 0 : much_of_run * static_cast<double>(profile.net_ns());
    return spared_ns(line) >= std::max(least_saving_ns, least_ns);
}

std::string churn_remedy(const Profile& profile, const Rule& rule, const ChurnLine& line) {
    if (line.slab)
        return fmt::format("allocate one block for all buffers that live at the same time and use parts of it "
                           "(each aligned to 256 bytes){}",
                           line.upkeep_calls != 0 ? ", and advise it once" : "");
    std::string text =
        line.peak_live > 1
            ? fmt::format(
                  "allocate {} blocks of the largest size once, before the loop, as many as live at the "
                  "same time, and reuse them",
                  line.peak_live)
            : "allocate the largest size once, before the loop, and reuse it";
    if (line.upkeep_calls != 0)
        text += "; its memory advice then stays in effect";
    if (&rule == &uma_401) // pools have no managed memory before CUDA 13
        text += fmt::format(", or use {} with a pool whose release threshold is raised",
                            profile.uses_runtime() ? "cudaMallocAsync and cudaFreeAsync"
                                                   : "cuMemAllocAsync and cuMemFreeAsync");
    return text;
}

Finding describe_churn(const Profile& profile, const Rule& rule, const ChurnLine& line) {
    const auto pairs = static_cast<double>(line.pairs);
    const double waited_ns = std::max(0.0, line.free_ns - line.own_free_ns);

    Finding finding = churn_finding(profile, line, "freed here");
    finding.summary = fmt::format(
        "{} and {} of {} on average, {} times, each alive for {}: {} in allocations{} and {} in frees",
        profile.call_name(line.entry), profile.call_name(line.free_entry),
        bytes_text(static_cast<double>(line.bytes) / pairs), line.pairs, time_text(line.lifetime_ns / pairs),
        time_text(line.alloc_ns),
        line.upkeep_calls != 0 ? fmt::format(", {} in {} calls that set memory advice",
                                             time_text(line.upkeep_ns), line.upkeep_calls)
                               : "",
        time_text(line.free_ns));
    finding.evidence = {{"pairs", pairs},
                        {"bytes", static_cast<double>(line.bytes)},
                        {"peak_live", static_cast<double>(line.peak_live)},
                        {"largest_bytes", static_cast<double>(line.largest_bytes)},
                        {"kept_time_ns", line.kept_ns},
                        {"alloc_time_ns", line.alloc_ns},
                        {"free_time_ns", line.free_ns},
                        {"free_wait_ns", waited_ns},
                        {"mean_lifetime_ns", line.lifetime_ns / pairs}};
    if (line.upkeep_calls != 0)
        finding.evidence.insert(
            finding.evidence.end(),
            {{"advice_calls", static_cast<double>(line.upkeep_calls)}, {"advice_time_ns", line.upkeep_ns}});
    if (waited_ns >= least_saving_ns)
        finding.details.push_back(
            fmt::format("the frees waited {} of this for the device; that time is not part of the saving",
                        time_text(waited_ns)));
    if (line.slab)
        finding.title = "many small managed allocations";
    finding.advice = churn_remedy(profile, rule, line);
    finding.basis = line.slab ? "time of these calls (waits for the device excluded) minus the time of one "
                                "allocation for all of them, counted as one of these calls for each 2 MiB"
                              : "time of these calls (waits for the device excluded) minus the time of one "
                                "round of the largest size, which is still needed";
    finding.confidence =
        waited_ns > line.alloc_ns + line.upkeep_ns + line.own_free_ns ? Confidence::medium : Confidence::high;
    return finding;
}

template <const Rule& rule, Made made>
std::vector<Finding> find_churn(const Profile& profile, const LineOf& line_of) {
    const auto judge = [&](const Profile&, ids::StackId, const ChurnLine& line) {
        return is_churn(profile, line) ? std::optional(describe_churn(profile, rule, line)) : std::nullopt;
    };
    return judge_lines(rule, profile, churn_lines(profile, line_of, {made}), judge);
}

} // namespace

constinit const Rule uma_401{.id = "UMA-401",
                             .name = "allocation-churn",
                             .title = "device memory allocated and freed again and again",
                             .find = &find_churn<uma_401, Made::device>,
                             .counter = &count<Churn>,
                             .same_calls_as = &uma_418,
                             .order = OrderUse::kept_memory};

constinit const Rule uma_410{.id = "UMA-410",
                             .name = "managed-churn",
                             .title = "managed memory allocated and freed again and again",
                             .find = &find_churn<uma_410, Made::managed>,
                             .counter = &count<Churn>,
                             .order = OrderUse::kept_memory};

} // namespace umadvisor::rules

#include "analyzer/rules/wasted_memory.hpp"

#include "analyzer/rules/library_memory.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr double least_idle_share = 0.01; ///< of the run
constexpr double least_idle_ns = 1e6;     ///< and no less than times of uses are right to
constexpr double tight_share = 0.5;       ///< of the device's memory, live at the peak

/// Memory that is idle for a shorter part of the run counts as used.
bool is_idle_for_long(const Profile& profile, tables::Waste waste, const WastedLine& line) {
    return !tables::is_about_time(waste) ||
           line.mean_idle_ns() >=
               std::max(least_idle_ns, least_idle_share * static_cast<double>(profile.recorded_ns()));
}

/// Of the device's memory; 0: its size is not known.
std::uint64_t memory_of(const Profile& profile, std::uint64_t ordinal) {
    const auto& devices = profile.dictionary().devices;
    const auto found = std::ranges::find(devices, ordinal, &trace::Device::ordinal);
    return found == devices.end() ? 0 : found->memory_bytes;
}

/// To allocate later or free earlier is worth it where the device is short of memory. To leave out what nothing
/// uses is always easy.
double least_device_share(trace::Memory memory, tables::Waste waste) {
    if (memory != trace::Memory::device || waste == tables::Waste::leaked)
        return 0;
    return tables::is_about_time(waste) ? 0.01 : 0.001;
}

bool is_worth_it(const WastedLine& line, double least_bytes) {
    const auto bytes = static_cast<double>(line.bytes);
    return line.bytes >= least_saving_bytes && bytes >= least_bytes &&
           bytes >= least_saving_share * static_cast<double>(line.peak_bytes);
}

/// What of it the peak would be lower by.
std::uint64_t spared_bytes(const tables::WasteTotals& wasted, tables::Waste waste, double spare_share) {
    return tables::is_about_time(waste)
               ? static_cast<std::uint64_t>(static_cast<double>(wasted.bytes) * spare_share)
               : wasted.bytes;
}

Finding finding_of(const WastedLine& line) {
    Finding finding;
    finding.evidence = {{"allocations", static_cast<double>(line.count)},
                        {"bytes", static_cast<double>(line.held_bytes)},
                        {"wasted_bytes", static_cast<double>(line.bytes)},
                        {"peak_bytes", static_cast<double>(line.peak_bytes)},
                        {"mean_lifetime_ns", line.mean_life_ns()}};
    finding.saving_bytes = line.bytes;
    finding.basis = "of the " + bytes_text(line.peak_bytes) + " that were allocated at the peak, these";
    return finding;
}

} // namespace

std::string allocations_text(const Profile& profile, const WastedLine& line) {
    return allocations_text(profile, line.entry, static_cast<double>(line.held_bytes), line.count);
}

Confidence confidence_at_peak(const Profile& profile, const WastedLine& line) {
    const auto tight = [&](const trace::Device& device) {
        return static_cast<double>(line.peak_bytes) >= tight_share * static_cast<double>(device.memory_bytes);
    };
    return std::ranges::any_of(profile.dictionary().devices, tight) ? Confidence::medium : Confidence::low;
}

std::vector<Finding> find_wasted(const Profile& profile, const LineOf& line_of, const Rule& rule,
                                 trace::Memory memory, tables::Waste waste, DescribeWaste describe) {
    if (memory_use_is_unknown(profile))
        return {};
    using Key = std::pair<ids::StackId, std::uint64_t>; ///< line and device
    std::map<Key, WastedLine> lines;
    for (const auto& [site, totals] : profile.lifetimes().sites()) {
        const tables::WasteTotals* const wasted = totals.find(waste);
        if (site.memory != memory || wasted == nullptr ||
            library_memory_at(profile.dictionary(), site.stack) != nullptr)
            continue;
        WastedLine& line = lines[{line_of(site.stack), site.device}];
        line.count += wasted->count;
        line.bytes += spared_bytes(*wasted, waste, totals.peak->spare_share);
        line.held_bytes += wasted->held_bytes;
        line.entry = site.entry;
        line.other = wasted->other;
        line.peak_bytes = totals.peak->peak_bytes;
        line.idle_ns += static_cast<double>(profile.nanoseconds(wasted->idle_ticks));
        line.life_ns += static_cast<double>(profile.nanoseconds(wasted->life_ticks));
        line.call_ns += static_cast<double>(profile.nanoseconds(wasted->call_ticks));
    }
    const auto judge = [&](const Profile&, const Key& key, const WastedLine& line) -> std::optional<Finding> {
        const double least_bytes =
            least_device_share(memory, waste) * static_cast<double>(memory_of(profile, key.second));
        if (!is_worth_it(line, least_bytes) || !is_idle_for_long(profile, waste, line))
            return std::nullopt;
        Finding finding = finding_of(line);
        describe(profile, line, finding);
        return finding;
    };
    return judge_lines(rule, profile, lines, judge, 0);
}

} // namespace umadvisor::rules

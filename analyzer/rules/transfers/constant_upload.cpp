/// Uploads that are one value over and over: a memory set writes it on the device at the rate of its memory.
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

namespace umadvisor::rules {
namespace {

std::string value_text(const FateTotals& totals) {
    if (totals.value == 0)
        return "0";
    char text[24];
    std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(2 * totals.value_bytes),
                  static_cast<unsigned long long>(totals.value));
    return text;
}

/// The runtime sets bytes only.
std::string memory_set(const Profile& profile, const FateTotals& totals) {
    const std::string value = value_text(totals);
    if (totals.value_bytes != 1)
        return fmt::format(
            "cuMemsetD{}(destination, {}, bytes / {}) of the driver API, or a kernel that fills it",
            8 * totals.value_bytes, value, totals.value_bytes);
    return fmt::format("{}(destination, {}, bytes)", profile.uses_runtime() ? "cudaMemset" : "cuMemsetD8",
                       value);
}

/// The value may be another in each upload.
std::string content_text(const FateTotals& last) {
    const std::string value = value_text(last);
    return value == "0" ? "nothing but zeros"
                        : fmt::format("only one {}-bit value, the last time {}", 8 * last.value_bytes, value);
}

/// The uploads of one line that a memory set could replace.
struct ConstantLine {
    ids::StackId stack{};
    FateGroup group;
    double saving_ns = 0;
};

double sets_ns(const Profile& profile, const FateGroup& group) {
    return static_cast<double>(group.transfers.count) * profile.rates().launch_call_ns +
           static_cast<double>(group.transfers.bytes) / profile.rates().memory_set * 1e9;
}

FateGroup sum_of(const std::vector<ConstantLine>& lines) {
    FateGroup all = lines.front().group;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const FateGroup& group = lines[i].group;
        all.transfers.add(group.transfers);
        all.calls.add(group.calls);
        all.in_part += group.in_part;
        all.not_looked_at += group.not_looked_at;
        all.spent_ns += group.spent_ns;
        all.fill_ns += group.fill_ns;
        all.measured &= group.measured;
    }
    return all;
}

/// `lines`: those with the same remedy, the one that saves most first.
Finding describe(const Profile& profile, const std::vector<ConstantLine>& lines) {
    const FateGroup all = sum_of(lines);
    Finding finding = begin_finding(profile, all);
    finding.rule = &uma_108;
    finding.title = finding.rule->title;
    finding.stack = lines.front().stack;
    finding.summary =
        fmt::format("{}, {}{}: {} in all", transfers_text(profile, all), content_text(all.last),
                    lines.size() > 1 ? ", here and at " + count_text(lines.size() - 1, "further line") : "",
                    time_text(all.spent_ns));
    finding.evidence.emplace_back("compared_in_part", static_cast<double>(all.in_part));
    finding.evidence.emplace_back("value_bytes", static_cast<double>(all.last.value_bytes));
    if (all.in_part == all.transfers.count)
        finding.details.emplace_back("only some KiB of each were compared: where a buffer holds a few other "
                                     "values, set it on the device and upload only those");
    for (std::size_t i = 1; i < lines.size(); ++i)
        finding.places.emplace_back(fmt::format("{}, into {} of device memory",
                                                transfers_text(profile, lines[i].group),
                                                bytes_text(lines[i].group.last.allocation_bytes)),
                                    lines[i].stack);
    finding.advice = "set it on the device: " + memory_set(profile, all.last);
    finding.saving_ns = 0;
    for (const ConstantLine& line : lines)
        finding.saving_ns += line.saving_ns;
    finding.edit = all.calls.gone(profile, sets_ns(profile, all));
    finding.basis = basis_of(profile, all) + " minus memory sets of the same bytes";
    finding.confidence = Confidence::low; // in another run the same buffer may hold something else
    return finding;
}

} // namespace

std::vector<Finding> find_constant_uploads(const Profile& profile, const LineOf& line_of) {
    std::map<std::string, std::vector<ConstantLine>> remedies;
    for (const auto& [stack, group] : transfers_of_fate(profile, Fate::constant, line_of))
        if (const double saving_ns = group.spent_ns + group.fill_ns - sets_ns(profile, group); saving_ns > 0)
            remedies[memory_set(profile, group.last)].push_back({stack, group, saving_ns});
    std::vector<Finding> findings;
    for (auto& [remedy, lines] : remedies) {
        std::ranges::stable_sort(lines, std::ranges::greater{}, &ConstantLine::saving_ns);
        Finding finding = describe(profile, lines);
        if (finding.saving_ns >= least_saving_ns)
            findings.push_back(std::move(finding));
    }
    return findings;
}

constinit const Rule uma_108{.id = "UMA-108",
                             .name = "constant-upload",
                             .title = "uploads of a constant",
                             .find = &find_constant_uploads,
                             .counter = &count<DeviceContents>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

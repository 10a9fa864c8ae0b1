/// Uploads that are one value over and over: a memory set writes it on the device at the rate of its memory.
#include "analyzer/findings/transfer_fates.hpp"
#include "analyzer/findings/words.hpp"

#include <algorithm>
#include <cstdio>

namespace umadvisor::findings {
namespace {

std::string value_text(const model::FateTotals& totals) {
    if (totals.value == 0)
        return "0";
    char text[24];
    std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(2 * totals.value_bytes),
                  static_cast<unsigned long long>(totals.value));
    return text;
}

/// The runtime sets bytes only.
std::string memory_set(const model::Profile& profile, const model::FateTotals& totals) {
    const std::string value = value_text(totals);
    if (totals.value_bytes != 1)
        return "cuMemsetD" + std::to_string(8 * totals.value_bytes) + "(destination, " + value + ", bytes / " +
               std::to_string(totals.value_bytes) + "), or a kernel that fills it";
    return profile.uses_runtime() ? "cudaMemset(destination, " + value + ", bytes)"
                                  : "cuMemsetD8(destination, " + value + ", bytes)";
}

} // namespace

std::vector<Finding> find_constant_uploads(const model::Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings;
    for (const auto& [stack, group] : transfers_of_fate(profile, model::Fate::constant, line_of)) {
        const double set_ns = static_cast<double>(group.transfers.count) * profile.rates().launch_call_ns +
                              static_cast<double>(group.transfers.bytes) / profile.rates().memory_set * 1e9;
        if (group.spent_ns - set_ns < least_saving_ns)
            continue;
        Finding finding = begin_finding(profile, rule("UMA-108"), stack, group);
        finding.summary = transfers_text(profile, group) + ", all bytes of it one value, last " +
                          value_text(group.last) + " in each " + count_text(group.last.value_bytes, "byte") +
                          ": " + time_text(group.spent_ns) + " in all";
        finding.evidence.emplace_back("compared_in_part", static_cast<double>(group.in_part));
        finding.evidence.emplace_back("value_bytes", static_cast<double>(group.last.value_bytes));
        finding.advice = "write it on the device: " + memory_set(profile, group.last);
        finding.saving_ns = std::max(0.0, group.spent_ns - set_ns);
        finding.basis = basis_of(profile, group) + ", less memory sets of the same bytes";
        finding.confidence = Confidence::low; // in another run the same buffer may hold something else
        findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace umadvisor::findings

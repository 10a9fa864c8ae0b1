/// Uploads, copies inside the device and memory sets that nothing used before they were overwritten or freed.
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {

std::vector<Finding> find_unused_transfers(const Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings;
    for (const auto& [stack, group] : transfers_of_fate(profile, Fate::unused, line_of)) {
        if (group.spent_ns < least_saving_ns)
            continue;
        Finding finding = begin_finding(profile, uma_303, stack, group);
        const bool freed = 2 * group.freed > group.transfers.count;
        finding.summary = transfers_text(profile, group) + " into memory that was " +
                          (freed ? "freed" : "overwritten") +
                          " before any kernel or copy used it: " + time_text(group.spent_ns) + " in all";
        finding.evidence.emplace_back("freed", static_cast<double>(group.freed));
        if (group.last.counterpart != 0 && group.last.counterpart != stack)
            finding.places.emplace_back(freed ? "freed here" : "overwritten here", group.last.counterpart);
        finding.advice = freed ? "leave it out: nothing reads it before the memory is freed"
                               : "leave it out: what overwrites it is enough";
        // A kernel that keeps running, and reads memory while copies go on, is not seen to.
        finding.confidence = group.measured ? Confidence::medium : Confidence::low;
        findings.push_back(std::move(finding));
    }
    return findings;
}

constinit const Rule uma_303{.id = "UMA-303",
                             .name = "unused-transfer",
                             .title = "sent to the device and never used",
                             .find = &find_unused_transfers,
                             .counter = &count<DeviceContents>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

/// Uploads, copies inside the device and memory sets that nothing used before they were overwritten or freed.
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {

namespace {

Finding describe_unused(const Profile& profile, ids::StackId stack, const FateGroup& group) {
    Finding finding = begin_finding(profile, group);
    const bool freed = 2 * group.freed > group.transfers.count;
    finding.summary =
        fmt::format("{} into memory that was {} before any kernel or copy used it: {} in all",
                    transfers_text(profile, group), freed ? "freed" : "overwritten", time_text(group.spent_ns));
    finding.evidence.emplace_back("freed", static_cast<double>(group.freed));
    if (group.last.counterpart.known() && group.last.counterpart != stack)
        finding.places.emplace_back(freed ? "freed here" : "overwritten here", group.last.counterpart);
    finding.advice = freed ? "remove it: nothing reads the data before the memory is freed"
                           : "remove it: the data is overwritten before anything reads it";
    // A kernel that keeps running, and reads memory while copies go on, is not seen to.
    finding.confidence = group.measured ? Confidence::medium : Confidence::low;
    return finding;
}

} // namespace

constinit const Rule uma_303{.id = "UMA-303",
                             .name = "unused-transfer",
                             .title = "written to the device and never used",
                             .find = &find_fate<uma_303, Fate::unused, describe_unused>,
                             .counter = &count<DeviceContents>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

/// UMA-128: downloads of what the host got from there before, while nothing on the device has changed it.
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/words.hpp"

#include <cstdint>

namespace umadvisor::rules {
namespace {

Finding describe_kept(const Profile& profile, ids::StackId stack, const FateGroup& group) {
    Finding finding = begin_finding(profile, group);
    finding.summary = fmt::format("{} of the same bytes that had already been downloaded to the same place, "
                                  "and no work on the device could have changed them since: {} in all",
                                  transfers_text(profile, group), time_text(group.spent_ns));
    finding.evidence.emplace_back("compared_in_part", static_cast<double>(group.in_part));
    if (group.last.counterpart.known() && group.last.counterpart != stack)
        finding.places.emplace_back("downloaded before here", group.last.counterpart);
    finding.advice = "download it once, and again only after a kernel has written it";
    finding.confidence = Confidence::medium; // the host may have changed its copy in between
    return finding;
}

} // namespace

constinit const Rule uma_128{.id = "UMA-128",
                             .name = "repeated-download",
                             .title = "the same bytes downloaded again",
                             .find = &find_fate<uma_128, Fate::kept, describe_kept>,
                             .counter = &count<DeviceContents>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

/// Uploads of what the device has already: uploaded there before, or downloaded from there; and downloads of
/// what the host has already.
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::rules {
namespace {

/// Without a comparison of a whole: with a probability of 95%, less than 2.5% of the bytes change.
constexpr std::uint64_t enough_places = 128;

/// Where the whole was compared it was equal each time.
Confidence confidence_of(const FateGroup& group) {
    if (group.wholes == 0 && group.places < enough_places)
        return Confidence::low;
    return group.in_part + group.not_looked_at == 0 && group.measured ? Confidence::high : Confidence::medium;
}

template <bool returned>
Finding describe_again(const Profile& profile, ids::StackId stack, const FateGroup& group) {
    Finding finding = begin_finding(profile, group);
    finding.summary =
        fmt::format("{}{}, with nothing on the device in between that could have changed them: {} in all",
                    transfers_text(profile, group),
                    returned ? " of the very bytes that had been downloaded from there"
                             : " of the very bytes that had been uploaded there before",
                    time_text(group.spent_ns));
    finding.evidence.emplace_back("compared_in_part", static_cast<double>(group.in_part));
    if (group.last.counterpart.known() && group.last.counterpart != stack)
        finding.places.emplace_back(returned ? "downloaded here" : "uploaded before here",
                                    group.last.counterpart);
    finding.advice =
        returned ? "leave the data on the device and upload only what the host has changed; where the host "
                   "does not look at it, leave the download out, too"
                 : "upload it once, and again only after the host's copy has changed: let a flag or a version "
                   "number say so";
    if (group.wholes == 0)
        finding.advice += "; where the host changes a little of it each time, upload that part alone";
    finding.confidence = confidence_of(group);
    return finding;
}

Finding describe_brought(const Profile& profile, ids::StackId stack, const FateGroup& group) {
    Finding finding = begin_finding(profile, group);
    finding.title = "uploaded and downloaded again unchanged";
    finding.summary = fmt::format("{} of the very bytes that had been uploaded from there, with nothing on the "
                                  "device in between that could have changed them: {} in all",
                                  transfers_text(profile, group), time_text(group.spent_ns));
    finding.evidence.emplace_back("compared_in_part", static_cast<double>(group.in_part));
    if (group.last.counterpart.known() && group.last.counterpart != stack)
        finding.places.emplace_back("uploaded here", group.last.counterpart);
    finding.advice = "leave the download out: the host has the data; copy back only what kernels write";
    finding.confidence =
        std::min(confidence_of(group), Confidence::medium); // the host may have changed its own
    return finding;
}

std::vector<Finding> find_round_trips(const Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings = find_fate<uma_107, Fate::returned, describe_again<true>>(profile, line_of);
    std::ranges::move(find_fate<uma_107, Fate::brought, describe_brought>(profile, line_of),
                      std::back_inserter(findings));
    return findings;
}

} // namespace

constinit const Rule uma_106{.id = "UMA-106",
                             .name = "repeated-upload",
                             .title = "the same bytes uploaded again",
                             .find = &find_fate<uma_106, Fate::repeated, describe_again<false>>,
                             .counter = &count<DeviceContents>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

constinit const Rule uma_107{.id = "UMA-107",
                             .name = "round-trip",
                             .title = "downloaded and uploaded again unchanged",
                             .find = &find_round_trips,
                             .counter = &count<DeviceContents>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

/// Uploads of what the device has already: uploaded there before, or downloaded from there; and downloads of
/// what the host has already, or had no time to look at before it went up again.
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/transfers/detours.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

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
    finding.summary = fmt::format("{}{}, and no work on the device could have changed them since: {} in all",
                                  transfers_text(profile, group),
                                  returned ? " of the same bytes that had been downloaded from there"
                                           : " of the same bytes that had already been uploaded there",
                                  time_text(group.spent_ns));
    finding.evidence.emplace_back("compared_in_part", static_cast<double>(group.in_part));
    if (group.last.counterpart.known() && group.last.counterpart != stack)
        finding.places.emplace_back(returned ? "downloaded here" : "uploaded before here",
                                    group.last.counterpart);
    finding.advice = returned ? "keep the data on the device and upload only what the host has changed; where "
                                "the host does not read it, remove the download, too"
                              : "upload it once, and again only after the host's copy has changed (keep a flag "
                                "or a version number)";
    if (group.wholes == 0)
        finding.advice += "; where the host changes only a small part of it each time, upload only that part";
    finding.confidence = confidence_of(group);
    return finding;
}

Finding describe_brought(const Profile& profile, ids::StackId stack, const FateGroup& group) {
    Finding finding = begin_finding(profile, group);
    finding.title = "uploaded and downloaded again unchanged";
    finding.summary = fmt::format("{} of the same bytes that had been uploaded from there, and no work on the "
                                  "device could have changed them since: {} in all",
                                  transfers_text(profile, group), time_text(group.spent_ns));
    finding.evidence.emplace_back("compared_in_part", static_cast<double>(group.in_part));
    if (group.last.counterpart.known() && group.last.counterpart != stack)
        finding.places.emplace_back("uploaded here", group.last.counterpart);
    finding.advice = "remove the download: the host already has the data; copy back only what kernels write";
    finding.confidence =
        std::min(confidence_of(group), Confidence::medium); // the host may have changed its own
    return finding;
}

/// Downloads of one line that go up again at once.
struct Unread {
    tables::Tally transfers;
    double ns = 0;
    EditedCalls calls;
    std::uint64_t entry = 0;
    ids::StackId up_stack;
};

/// By the line of the download, as far as `returned` has what goes up.
std::map<ids::StackId, Unread> unread_downloads(const Profile& profile, const LineOf& line_of,
                                                const std::map<ids::StackId, FateGroup>& returned) {
    std::map<ids::StackId, Unread> lines;
    for (const auto& [site, totals] : profile.counted<ThroughHost>().back()) {
        const auto up = returned.find(line_of(site.up.stack));
        if (totals.pairs == 0 || up == returned.end() || up->second.transfers.count < totals.pairs)
            continue;
        Unread& line = lines[line_of(site.down.stack)];
        line.transfers.add({totals.pairs, totals.bytes, 0});
        line.ns += way_ns(profile, totals.down, static_cast<double>(totals.bytes));
        line.calls.add(site.down, totals.pairs);
        line.entry = site.down.entry;
        line.up_stack = site.up.stack;
    }
    return lines;
}

Finding describe_unread(const Profile& profile, ids::StackId, const Unread& line) {
    Finding finding;
    finding.summary = transfers_text(profile, line.entry, line.transfers) +
                      " of data that is uploaded again unchanged, and the host had no time to read it: " +
                      time_text(line.ns) + " in all";
    finding.evidence = {{"transfers", static_cast<double>(line.transfers.count)},
                        {"bytes", static_cast<double>(line.transfers.bytes)},
                        {"time_ns", line.ns}};
    finding.places.emplace_back("uploaded again here", line.up_stack);
    finding.advice =
        "remove the download and the upload: the data can stay on the device until the host reads it";
    finding.saving_ns = line.ns;
    finding.edit = line.calls.gone(profile);
    finding.basis = "time of these transfers (waits for earlier work excluded)";
    finding.confidence = Confidence::medium;
    return finding;
}

/// Each line is reported once, with what saves most there.
std::vector<Finding> find_round_trips(const Profile& profile, const LineOf& line_of) {
    const std::map<ids::StackId, FateGroup> returned = transfers_of_fate(profile, Fate::returned, line_of);
    std::vector<Finding> findings = judge_lines(uma_107, profile, returned, describe_again<true>);
    std::ranges::move(
        judge_lines(uma_107, profile, unread_downloads(profile, line_of, returned), describe_unread),
        std::back_inserter(findings));
    std::ranges::move(find_fate<uma_107, Fate::brought, describe_brought>(profile, line_of),
                      std::back_inserter(findings));
    std::ranges::stable_sort(findings, [](const Finding& one, const Finding& other) {
        return std::tuple(one.stack, other.saving_ns) < std::tuple(other.stack, one.saving_ns);
    });
    findings.erase(
        std::unique(findings.begin(), findings.end(),
                    [](const Finding& one, const Finding& other) { return one.stack == other.stack; }),
        findings.end());
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

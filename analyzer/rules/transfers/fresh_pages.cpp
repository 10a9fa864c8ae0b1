/// Downloads into memory that the host has not touched before: the driver's staging copy pays for each new
/// page.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>

namespace umadvisor::rules {
namespace {

/// A copy into existing pages reaches the usual rate; a copy this much slower made the pages. It then also
/// takes most of the time of their first touch: on a machine whose copies are just slow, it does not.
constexpr double least_times_slower = 2, least_of_touch = 0.5;

struct FreshCopies {
    tables::Tally copies;
    EditedCalls calls;
    facts::Footprint memory;
    std::uint64_t largest = 0, entry = 0;

    /// The same copies into memory that was touched before.
    double usual_ns(const machine::Rates& rates) const {
        return static_cast<double>(copies.count) * rates.small_copy_ns +
               static_cast<double>(copies.bytes) / rates.device_to_pageable * 1e9;
    }
    bool makes_pages(const machine::Rates& rates) const {
        const double usual = usual_ns(rates),
                     touch = static_cast<double>(copies.bytes) / rates.host_first_touch * 1e9;
        return copies.own_ns >= least_times_slower * usual && copies.own_ns >= usual + least_of_touch * touch;
    }
};

std::optional<Finding> describe_fresh(const Profile& profile, ids::StackId, const FreshCopies& group) {
    const machine::Rates& rates = profile.rates();
    // A buffer that is copied to again has its pages; the rule pageable-copy speaks of it.
    if (group.copies.bytes >= 2 * group.memory.bytes() || !group.makes_pages(rates))
        return std::nullopt;
    const auto bytes = static_cast<double>(group.copies.bytes), count = static_cast<double>(group.copies.count);
    // A buffer that is kept is touched once, at its largest.
    const double touch_ns = static_cast<double>(group.largest) / rates.host_first_touch * 1e9;
    const bool once = group.copies.count == 1;

    Finding finding;
    finding.summary = fmt::format(
        "{} into untouched pages, {}; into memory that was touched before, {} reached {}",
        copies_text(profile, group.entry, bytes, group.copies.count),
        rate_text(bytes / group.copies.own_ns * 1e9), rates.whose(), rate_text(rates.device_to_pageable));
    finding.evidence = {{"copies", count},
                        {"bytes", bytes},
                        {"buffer_bytes", static_cast<double>(group.memory.bytes())},
                        {"time_ns", group.copies.own_ns},
                        {"touch_ns", touch_ns}};
    finding.advice =
        once ? "touch the buffer before the copy, with several threads if it is large, or reuse an existing one"
             : "keep one buffer of the largest size instead of a new one for each copy, and touch it once "
               "before the first";
    finding.saving_ns = std::max(0.0, group.copies.own_ns - group.usual_ns(rates) - touch_ns);
    finding.host_cost_ns = touch_ns + group.usual_ns(rates);
    finding.edit =
        group.calls.faster(profile, group.copies.bytes, group.copies.own_ns - group.usual_ns(rates), touch_ns);
    finding.basis =
        fmt::format("time of these copies (waits for earlier work excluded) minus the same bytes at {} and one "
                    "first touch of {}, {}",
                    rate_text(rates.device_to_pageable), bytes_text(group.largest), time_text(touch_ns));
    finding.confidence = Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_fresh_pages(const Profile& profile, const LineOf& line_of) {
    std::map<ids::StackId, FreshCopies> groups;
    for (const auto& [site, totals] : profile.copies().sites()) {
        if (site.graph || totals.direction != facts::Direction::DtoH || totals.large.count == 0 ||
            site.destination != trace::Memory::pageable)
            continue;
        FreshCopies& group = groups[line_of(site.stack)];
        group.copies.add(totals.large);
        group.calls.add(site, totals.large.count);
        group.memory.add(totals.pageable);
        group.largest = std::max(group.largest, totals.largest);
        group.entry = site.entry;
    }
    return judge_lines(uma_118, profile, groups, describe_fresh);
}

constinit const Rule uma_118{.id = "UMA-118",
                             .name = "fresh-pages",
                             .title = "downloads into pages that the host has not touched yet",
                             .find = &find_fresh_pages,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

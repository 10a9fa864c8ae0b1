/// Copies of many rows that are too narrow for the link: each row costs packets of its own.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_rows = 1000;
/// Rows lie close together if the bytes from the first to the last are less than this times the rows' own.
constexpr double close = 2;
/// For a shorter row, the host still fetches this many bytes.
constexpr double cache_line = 64;

struct RowCopies {
    std::uint64_t copies = 0, rows = 0, bytes = 0, span_bytes = 0, entry = 0;
    double spent_ns = 0;
    EditedCalls calls;
    bool same_pitch = true, all_measured = true;
};

/// What the copies took: their calls where those wait, else the device's time of those that were sampled. 0:
/// not known.
double spent_on(const Profile& profile, const tables::NarrowRowsSite& site,
                const tables::NarrowRowsTotals& totals) {
    if (!site.asynchronous)
        return static_cast<double>(profile.nanoseconds(totals.ticks));
    if (totals.measured_rows == 0)
        return 0;
    return static_cast<double>(totals.measured_ns) * static_cast<double>(totals.rows) /
           static_cast<double>(totals.measured_rows);
}

using RowKey = std::pair<ids::StackId, facts::Direction>;

std::optional<Finding> describe_rows(const Profile& profile, const RowKey& key, const RowCopies& group) {
    // Copies of a few rows cost their calls: the rule small-copies speaks of them.
    if (group.rows < least_rows || group.rows < 100 * group.copies)
        return std::nullopt;
    const facts::Direction direction = key.second;
    const auto bytes = static_cast<double>(group.bytes);
    const auto rows = static_cast<double>(group.rows);
    const auto span = static_cast<double>(group.span_bytes);
    const tables::LinkRate link = profile.copies().link(direction);
    const double rate = link.bytes != 0 ? link.bytes_per_second() : profile.rates().pinned_to_device;
    const double contiguous_ns = bytes / rate * 1e9;
    const double whole_ns = span / rate * 1e9;
    const bool whole = group.same_pitch && span < close * bytes;
    const double packing_ns = std::min(span, rows * cache_line) / profile.rates().host_to_host * 1e9;

    Finding finding;
    finding.title = fmt::format("{}, {}", uma_104.title, words(direction));
    const double reached = bytes / (group.spent_ns * 1e-9);
    finding.summary = fmt::format(
        "{} of rows of {}, {} apart, {} rows in {}: {}, {} in all; this link carries {} in one piece",
        profile.call_name(group.entry), bytes_text(bytes / rows), bytes_text(span / rows), group.rows,
        count_text(group.copies, "copy"), rate_text(reached), time_text(group.spent_ns), rate_text(rate));
    finding.evidence = {{"copies", static_cast<double>(group.copies)},
                        {"rows", rows},
                        {"bytes", bytes},
                        {"mean_row_bytes", bytes / rows},
                        {"span_bytes", span},
                        {"time_ns", group.spent_ns},
                        {"rate_bytes_per_s", reached}};
    finding.advice =
        whole ? "copy the rows and the small gaps between them in one piece"
              : "store the data that is copied together contiguously (a column as a separate array), and copy "
                "it in one piece; a kernel packs or unpacks rows on the device at the rate of its memory";
    if (!whole)
        finding.details.push_back(fmt::format(
            "packing the rows on the host before each copy would itself take about {}", time_text(packing_ns)));
    finding.saving_ns = std::max(0.0, group.spent_ns - (whole ? whole_ns : contiguous_ns));
    finding.edit = group.calls.faster(profile, group.bytes, finding.saving_ns);
    finding.basis = fmt::format("time of these copies minus {} at {}{}",
                                whole ? "the rows and the gaps between them" : "the same bytes in one piece",
                                rate_text(rate),
                                link.bytes != 0 ? ", the rate of this trace's pinned copies"
                                                : ", measured for pinned memory on " + profile.rates().whose());
    finding.confidence = group.all_measured && link.bytes != 0 ? Confidence::high : Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_narrow_rows(const Profile& profile, const LineOf& line_of) {
    std::map<RowKey, RowCopies> groups;
    for (const auto& [site, totals] : profile.narrow_rows().sites()) {
        const double spent_ns = spent_on(profile, site, totals);
        if (spent_ns <= 0)
            continue;
        RowCopies& group = groups[{line_of(site.stack), site.direction}];
        group.copies += totals.copies;
        group.calls.add(site, totals.copies);
        group.rows += totals.rows;
        group.bytes += totals.bytes;
        group.span_bytes += totals.span_bytes;
        group.entry = site.entry;
        group.spent_ns += spent_ns;
        group.same_pitch &= totals.same_pitch;
        group.all_measured &= !site.asynchronous || totals.measured_rows == totals.rows;
    }
    return judge_lines(uma_104, profile, groups, describe_rows);
}

constinit const Rule uma_104{.id = "UMA-104",
                             .name = "narrow-rows",
                             .title = "narrow rows copied one by one",
                             .find = &find_narrow_rows,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .order = OrderUse::none};

} // namespace umadvisor::rules

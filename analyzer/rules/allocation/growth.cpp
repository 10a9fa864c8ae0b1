/// Device memory of Python programs that grows from round to round, since something keeps what the rounds made.
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

constexpr std::size_t growth_parts = 4;
/// A line that grows allocates at least this share of its bytes in each quarter of the launches since its first
/// allocation. What a program sets up before its rounds, or in the first of them, does not.
constexpr double least_quarter_share = 0.1;
/// Where a line makes as much in one quarter as in another, there is little doubt.
constexpr double even_share = 0.6;
constexpr std::size_t least_pieces = 8;
constexpr double most_freed = 0.1;
constexpr std::uint64_t least_launches = 64;
/// What has grown is worth a word as such a share of the device's memory, or of the run's peak where it is no
/// trifle.
constexpr double share_of_device = 0.1, share_of_peak = 0.5, trifle_of_device = 0.01;
constexpr std::uint64_t trifle_bytes = 256 << 20;

struct GrowingLine {
    std::array<std::uint64_t, growth_parts> bytes{};
    std::uint64_t sum = 0, freed = 0, pieces = 0, entry = 0, since = 0;
    bool complete = true;

    std::uint64_t later() const { return sum - bytes.front(); }
    bool grows() const {
        return complete && pieces >= least_pieces &&
               static_cast<double>(freed) <= most_freed * static_cast<double>(sum) &&
               std::ranges::all_of(bytes, [this](std::uint64_t each) {
                   return static_cast<double>(each) >= least_quarter_share * static_cast<double>(sum);
               });
    }
    bool is_even() const {
        const auto [least, most] = std::ranges::minmax(bytes);
        return static_cast<double>(least) >= even_share * static_cast<double>(most);
    }
};

using Lines = std::map<std::uint64_t, GrowingLine>; ///< by line

void add(GrowingLine& line, const GrowthSite& site, const GrowthTotals& totals, std::uint64_t first,
         std::uint64_t launches) {
    line.entry = site.entry;
    line.freed += totals.freed_bytes;
    line.complete &= totals.complete;
    for (const GrowthPiece& piece : totals.pieces) {
        if (piece.bytes == 0)
            continue;
        const std::size_t part =
            static_cast<std::size_t>((piece.launches - first) * growth_parts / (launches - first + 1));
        line.bytes[std::min(part, growth_parts - 1)] += piece.bytes;
        line.sum += piece.bytes;
        line.since = line.pieces == 0 ? piece.start : std::min(line.since, piece.start);
        ++line.pieces;
    }
}

/// Lines that grow, by device.
std::map<std::uint64_t, Lines> growing_lines(const Profile& profile, const LineOf& line_of) {
    // Launches before its first allocation, by device and line.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> first;
    for (const auto& [site, totals] : profile.growth().sites())
        for (const GrowthPiece& piece : totals.pieces) {
            const auto [entry, fresh] = first.try_emplace({site.device, line_of(site.stack)}, piece.launches);
            entry->second = std::min(entry->second, piece.launches);
        }
    std::map<std::uint64_t, Lines> devices;
    const std::uint64_t launches = profile.growth().launches();
    for (const auto& [site, totals] : profile.growth().sites()) {
        const std::uint64_t line = line_of(site.stack), begin = first[{site.device, line}];
        if (launches - begin >= least_launches)
            add(devices[site.device][line], site, totals, begin, launches);
    }
    for (auto& [device, lines] : devices)
        std::erase_if(lines, [](const auto& line) { return !line.second.grows(); });
    return devices;
}

std::uint64_t device_bytes(const Profile& profile, std::uint64_t device) {
    const auto& devices = profile.dictionary().devices;
    const auto found = std::ranges::find(devices, device, &trace::Device::ordinal);
    return found == devices.end() ? 0 : found->memory_bytes;
}

bool has_grown_much(std::uint64_t grown, std::uint64_t peak, std::uint64_t memory) {
    const auto bytes = static_cast<double>(grown), whole = static_cast<double>(memory);
    return grown >= trifle_bytes && bytes >= trifle_of_device * whole &&
           ((memory != 0 && bytes >= share_of_device * whole) ||
            bytes >= share_of_peak * static_cast<double>(peak));
}

Finding describe(const Profile& profile, std::uint64_t device, const Lines& lines) {
    const auto largest = std::ranges::max_element(lines, {}, [](const auto& line) { return line.second.sum; });
    std::uint64_t sum = 0, freed = 0, later = 0, pieces = 0, since = largest->second.since;
    bool even = true;
    for (const auto& [stack, line] : lines) {
        sum += line.sum;
        freed += line.freed;
        later += line.later();
        pieces += line.pieces;
        since = std::min(since, line.since);
        even &= line.is_even();
    }
    const std::uint64_t begin = profile.trace().file.header().first.ticks;
    const double since_ns = static_cast<double>(profile.nanoseconds(since - std::min(since, begin)));
    const std::uint64_t peak = profile.growth().peak_bytes(device);
    Finding finding;
    finding.rule = &uma_417;
    finding.title = finding.rule->title;
    finding.stack = largest->first;
    finding.summary = profile.call_name(largest->second.entry) + " " + count_text(pieces, "time") + ", " +
                      bytes_text(static_cast<double>(sum)) + " in all, from " + time_text(since_ns) +
                      " of the run to its end, and " + (freed == 0 ? "none" : "hardly any") +
                      " of it freed: what this line makes in a round is still there in the next";
    finding.evidence = {{"allocations", static_cast<double>(pieces)},
                        {"bytes", static_cast<double>(sum)},
                        {"peak_bytes", static_cast<double>(peak)},
                        {"since_ns", since_ns},
                        {"lines", static_cast<double>(lines.size())}};
    std::string quarters;
    for (std::size_t part = 0; part < growth_parts; ++part)
        quarters += (part == 0 ? "" : ", ") + bytes_text(static_cast<double>(largest->second.bytes[part]));
    finding.details.push_back("in the four quarters of the launches since then: " + quarters);
    for (const auto& [stack, line] : lines)
        if (stack != finding.stack)
            finding.places.emplace_back(bytes_text(static_cast<double>(line.sum)) + " more grow here", stack);
    finding.advice =
        "let go of what the rounds leave behind: a list, a dictionary or a closure that refers to an array "
        "of the device keeps it, and all that it was made from";
    finding.saving_bytes = later;
    finding.basis = "what was allocated after the first quarter of these launches, of the " +
                    bytes_text(static_cast<double>(peak)) + " that were allocated when the most was";
    finding.confidence = even ? Confidence::medium : Confidence::low;
    return finding;
}

} // namespace

std::vector<Finding> find_growth(const Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings;
    for (const auto& [device, lines] : growing_lines(profile, line_of)) {
        std::uint64_t grown = 0;
        for (const auto& [stack, line] : lines)
            grown += line.later();
        if (!lines.empty() &&
            has_grown_much(grown, profile.growth().peak_bytes(device), device_bytes(profile, device)))
            findings.push_back(describe(profile, device, lines));
    }
    return findings;
}

constinit const Rule uma_417{.id = "UMA-417",
                             .name = "growth",
                             .title = "device memory grows from round to round",
                             .find = &find_growth};

} // namespace umadvisor::rules

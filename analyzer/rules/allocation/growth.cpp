/// Device memory of Python programs that grows from round to round, since something keeps what the rounds made.
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/words.hpp"
#include "trace/event_records.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

struct GrowthSite : ids::CallSite {
    std::uint64_t device = 0;
    auto operator<=>(const GrowthSite&) const = default;
};

/// One allocation that was not freed.
struct GrowthPiece {
    std::uint64_t launches = 0; ///< of the run before it
    std::uint64_t start = 0;    ///< ticks
    std::uint64_t bytes = 0;    ///< 0: it was freed
};

struct GrowthTotals {
    std::vector<GrowthPiece> pieces;
    std::uint64_t freed_bytes = 0;
    bool complete = true; ///< false: there were more pieces
};

/// A framework's allocator takes a segment from the driver when none of what it has fits: a line that makes it
/// do so round after round leaves more and more alive. Memory: one entry an allocation, up to `most_pieces` a
/// site.
class Growth : public Counter {
public:
    static constexpr std::size_t most_pieces = 1 << 14, most_sites = 1 << 13;

    static constexpr bool wants_nodes = true; ///< for launches: their number is the run's clock

    explicit Growth(const Begin& begin) : dictionary_(begin.dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const Launched&) { ++launches_; }

    const std::map<GrowthSite, GrowthTotals>& sites() const { return sites_; }
    std::uint64_t launches() const { return launches_; }
    /// The most that was allocated at once on a device, by the driver's calls that name it.
    std::uint64_t peak_bytes(std::uint64_t device) const;

private:
    struct Place {
        GrowthTotals* totals = nullptr; ///< nullptr: not of Python code
        std::size_t piece = 0;
        std::uint64_t device = 0, bytes = 0;
    };
    struct Live {
        std::uint64_t bytes = 0, peak_bytes = 0;
    };

    const reader::Dictionary& dictionary_;
    std::uint64_t launches_ = 0;
    std::map<GrowthSite, GrowthTotals> sites_;
    reader::FlatMap<Place, trace::AllocationId> places_; ///< by allocation
    std::map<std::uint64_t, Live> live_;
};

std::uint64_t Growth::peak_bytes(std::uint64_t device) const {
    const auto found = live_.find(device);
    return found == live_.end() ? 0 : found->second.peak_bytes;
}

void Growth::add(const trace::Alloc& record) {
    // A stream-ordered pool keeps what is given back: its allocations do not show how much memory the device
    // has left.
    if (record.status != 0 || record.captured != 0 || record.part != 0 || record.symbol != 0 ||
        record.origin != trace::Origin::program || record.memory != trace::Memory::device ||
        dictionary_.is_stream_ordered(record.entry) || dictionary_.python_frames.empty())
        return;
    Live& live = live_[record.device];
    reader::add_saturated(live.bytes, record.bytes);
    live.peak_bytes = std::max(live.peak_bytes, live.bytes);
    Place& place = places_[record.allocation];
    place = {.device = record.device, .bytes = record.bytes};
    const GrowthSite site{ids::CallSite::of(record), record.device};
    if (!dictionary_.is_python(ids::StackId::of(record)) ||
        (sites_.size() == most_sites && !sites_.contains(site)))
        return;
    GrowthTotals& totals = sites_[site];
    totals.complete &= totals.pieces.size() < most_pieces;
    if (!totals.complete)
        return;
    place.totals = &totals;
    place.piece = totals.pieces.size();
    totals.pieces.push_back({launches_, record.start, record.bytes});
}

/// What goes with its context was not freed by the program.
void Growth::add(const trace::Free& record) {
    if (record.status != 0 || record.captured != 0 || record.part != 0)
        return;
    const Place* const place = places_.find(record.allocation);
    if (place == nullptr)
        return;
    Live& live = live_[place->device];
    live.bytes -= std::min(live.bytes, place->bytes);
    if (place->totals != nullptr) {
        reader::add_saturated(place->totals->freed_bytes, place->bytes);
        place->totals->pieces[place->piece].bytes = 0;
    }
    places_.erase(record.allocation);
}

constexpr std::size_t growth_parts = 4;
/// A line that grows allocates at least this share of its bytes in each quarter of the launches since its first
/// allocation. What a program sets up before its rounds, or in the first of them, does not.
constexpr double least_quarter_share = 0.1;
/// Where a line makes as much in one quarter as in another, there is little doubt.
constexpr double even_share = 0.6;
constexpr std::size_t least_pieces = 8;
constexpr double most_freed = 0.1;
constexpr std::uint64_t least_launches = 64;
/// Growth is reported from this share of the device's memory on, or from this share of the run's peak, but
/// never below a trifle.
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

using Lines = std::map<ids::StackId, GrowingLine>; ///< by line

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
std::map<std::uint64_t, Lines> growing_lines(const Growth& counted, const LineOf& line_of) {
    // Launches before its first allocation, by device and line.
    std::map<std::pair<std::uint64_t, ids::StackId>, std::uint64_t> first;
    for (const auto& [site, totals] : counted.sites())
        for (const GrowthPiece& piece : totals.pieces) {
            const auto [entry, fresh] = first.try_emplace({site.device, line_of(site.stack)}, piece.launches);
            entry->second = std::min(entry->second, piece.launches);
        }
    std::map<std::uint64_t, Lines> devices;
    const std::uint64_t launches = counted.launches();
    for (const auto& [site, totals] : counted.sites()) {
        const ids::StackId line = line_of(site.stack);
        const std::uint64_t begin = first[{site.device, line}];
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

Finding describe(const Profile& profile, std::uint64_t peak, const Lines& lines) {
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
    Finding finding;
    finding.rule = &uma_417;
    finding.title = finding.rule->title;
    finding.stack = largest->first;
    finding.summary = fmt::format("{} {}, {} in all, from {} of the run to its end, and {} of it freed: what "
                                  "this line allocates in one round is still allocated in the next",
                                  profile.call_name(largest->second.entry), count_text(pieces, "time"),
                                  bytes_text(sum), time_text(since_ns), freed == 0 ? "none" : "hardly any");
    finding.evidence = {{"allocations", static_cast<double>(pieces)},
                        {"bytes", static_cast<double>(sum)},
                        {"peak_bytes", static_cast<double>(peak)},
                        {"since_ns", since_ns},
                        {"lines", static_cast<double>(lines.size())}};
    std::string quarters;
    for (std::size_t part = 0; part < growth_parts; ++part)
        quarters += (part == 0 ? "" : ", ") + bytes_text(largest->second.bytes[part]);
    finding.details.push_back("in the four quarters of the launches since then: " + quarters);
    for (const auto& [stack, line] : lines)
        if (stack != finding.stack)
            finding.places.emplace_back(bytes_text(line.sum) + " of that is here", stack);
    finding.advice = "release what each round leaves behind: a list, a dictionary or a closure that refers to "
                     "a device array keeps it alive, together with everything it was computed from";
    finding.saving_bytes = later;
    finding.basis = "allocated after the first quarter of these launches, of the " + bytes_text(peak) +
                    " that were allocated at the peak";
    finding.confidence = even ? Confidence::medium : Confidence::low;
    return finding;
}

} // namespace

std::vector<Finding> find_growth(const Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings;
    const Growth& counted = profile.counted<Growth>();
    for (const auto& [device, lines] : growing_lines(counted, line_of)) {
        const std::uint64_t peak = counted.peak_bytes(device);
        std::uint64_t grown = 0;
        for (const auto& [stack, line] : lines)
            grown += line.later();
        if (!lines.empty() && has_grown_much(grown, peak, device_bytes(profile, device)))
            findings.push_back(describe(profile, peak, lines));
    }
    return findings;
}

constinit const Rule uma_417{.id = "UMA-417",
                             .name = "growth",
                             .title = "device memory grows from round to round",
                             .find = &find_growth,
                             .counter = &count<Growth>};

} // namespace umadvisor::rules

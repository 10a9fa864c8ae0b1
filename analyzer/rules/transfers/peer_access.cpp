/// Copies between two devices that pass through the host, since peer access is not enabled.
#include "analyzer/facts/peers.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace umadvisor::rules {
namespace {

/// Below this a copy takes its call's time, whatever way its bytes go.
constexpr std::uint64_t least_peer_bytes = 64 * 1024;

struct PeerSite {
    ids::CallSite call;
    std::uint64_t from = 0, to = 0; ///< devices
    auto operator<=>(const PeerSite&) const = default;
};

struct PeerTotals {
    std::uint64_t count = 0, bytes = 0;
    std::uint64_t sampled_bytes = 0, sampled_ns = 0; ///< of those whose device time is known
};

/// Copies of least_peer_bytes and more that the program made while peer access was not enabled, though the
/// driver says that it is possible; those of rows, of graphs and of memory that peer access does not govern are
/// left out. Memory: one entry a site.
class PeerCopies : public Counter {
public:
    explicit PeerCopies(const Begin& begin) : samples_(begin.samples), peers_(begin.dictionary) {}

    void add(const trace::Alloc& record) { peers_.add(record); }
    void add(const trace::Free& record) { peers_.add(record); }
    void add(const trace::Peer& record) { peers_.add(record); }
    void add(const trace::Copy& copy);

    const std::map<PeerSite, PeerTotals>& without_access() const { return without_access_; }
    const facts::Peers& peers() const { return peers_; }

private:
    facts::Samples& samples_;
    facts::Peers peers_;
    std::map<PeerSite, PeerTotals> without_access_;
};

void PeerCopies::add(const trace::Copy& copy) {
    if (copy.bytes < least_peer_bytes || copy.status != 0 || copy.width != 0 ||
        copy.origin != trace::Origin::program)
        return;
    const std::optional<facts::PeerCopy> way = peers_.between_devices(copy);
    if (!way || !way->plain || !peers_.possible(way->pair()) || peers_.enabled(way->pair()))
        return;
    PeerTotals& totals = without_access_[{ids::CallSite::of(copy), way->from, way->to}];
    ++totals.count;
    reader::add_saturated(totals.bytes, copy.bytes);
    samples_.await(copy.sample, [&totals, bytes = copy.bytes](std::uint64_t ns) {
        reader::add_saturated(totals.sampled_bytes, bytes);
        reader::add_saturated(totals.sampled_ns, ns);
    });
}

/// Enabling peer access takes an unknown time, once: the gain has to be well above it.
constexpr double least_gain_ns = 1e6;
/// A rate of at least this share of the rate with peer access counts as equal to it.
constexpr double as_fast_as_peer = 0.9;

struct PeerLine {
    EditedCalls calls;
    std::uint64_t copies = 0, bytes = 0, entry = 0;
    double spent_ns = 0, peer_ns = 0;
    bool measured = true; ///< all of `spent_ns`, in this trace
    bool linked = true;   ///< all devices have a link of their own
    std::set<facts::DevicePair> pairs;
    std::set<std::pair<std::uint64_t, std::uint64_t>> ways; ///< from, to
};

/// What the copies of a site took, and what they would take with peer access.
void add_site(PeerLine& line, const Profile& profile, const PeerSite& site, const PeerTotals& totals,
              bool linked) {
    const machine::Rates& rates = profile.rates();
    const auto bytes = static_cast<double>(totals.bytes);
    const double ns_per_byte = totals.sampled_bytes != 0 ? static_cast<double>(totals.sampled_ns) /
                                                               static_cast<double>(totals.sampled_bytes)
                                                         : 1e9 / rates.to_peer_through_host();
    line.calls.add(site.call, totals.count);
    line.copies += totals.count;
    reader::add_saturated(line.bytes, totals.bytes);
    line.entry = site.call.entry;
    line.spent_ns += bytes * ns_per_byte;
    line.peer_ns +=
        static_cast<double>(totals.count) * rates.small_copy_ns + bytes / rates.to_peer(linked) * 1e9;
    line.measured &= totals.sampled_bytes != 0;
    line.linked &= linked;
    line.pairs.insert(facts::pair_of(site.from, site.to));
    line.ways.emplace(site.from, site.to);
}

std::string ways_text(const PeerLine& line) {
    const auto& [from, to] = *line.ways.begin();
    if (line.ways.size() == 1)
        return fmt::format("from device {} to device {}", from, to);
    return line.pairs.size() == 1 ? fmt::format("between device {} and device {}", from, to)
                                  : fmt::format("between {} of devices", count_text(line.pairs.size(), "pair"));
}

std::string advise_access(const PeerLine& line, bool runtime) {
    const auto& [low, high] = *line.pairs.begin();
    const std::string each = line.pairs.size() == 1 ? "" : ", and likewise for each pair of these devices";
    if (!runtime)
        return fmt::format("once, before the first copy: cuCtxEnablePeerAccess(context of device {}, 0) while "
                           "the context of device {} is current, and the same in the other direction{}",
                           high, low, each);
    return fmt::format("once, before the first copy: cudaSetDevice({0}); cudaDeviceEnablePeerAccess({1}, 0); "
                       "and in the other direction cudaSetDevice({1}); cudaDeviceEnablePeerAccess({0}, 0){2}",
                       low, high, each);
}

std::string basis_of(const Profile& profile, const PeerLine& line) {
    const machine::Rates& rates = profile.rates();
    const std::string spent =
        line.measured
            ? "device time of these copies"
            : fmt::format("their bytes at {}, {}", rate_text(rates.to_peer_through_host()),
                          rates.peer_through_host > 0 ? "the calibrated rate" : "measured between two H100");
    return fmt::format("{} minus the same bytes at {}, measured {}", spent,
                       rate_text(rates.to_peer(line.linked)),
                       rates.peer > 0 ? "on " + rates.whose() : "over NVLink between two H100");
}

std::optional<Finding> describe_peer_access(const Profile& profile, ids::StackId, const PeerLine& line) {
    if (line.peer_ns >= as_fast_as_peer * line.spent_ns)
        return std::nullopt;
    const auto bytes = static_cast<double>(line.bytes);
    Finding finding;
    finding.summary = fmt::format("{} {}: these devices can access each other, but peer access is not enabled, "
                                  "so the driver copies through the host{}",
                                  copies_text(profile, line.entry, bytes, line.copies), ways_text(line),
                                  line.measured ? ", " + rate_text(bytes / line.spent_ns * 1e9) : "");
    finding.evidence = {{"copies", static_cast<double>(line.copies)},
                        {"bytes", bytes},
                        {"time_ns", line.spent_ns},
                        {"peer_ns", line.peer_ns},
                        {"device_pairs", static_cast<double>(line.pairs.size())}};
    finding.advice = advise_access(line, profile.uses_runtime());
    finding.saving_ns = line.spent_ns - line.peer_ns;
    finding.edit = line.calls.faster(profile, line.bytes, finding.saving_ns);
    finding.basis = basis_of(profile, line);
    finding.confidence = line.measured && profile.rates().peer > 0 ? Confidence::high
                         : line.measured                           ? Confidence::medium
                                                                   : Confidence::low;
    return finding;
}

} // namespace

std::vector<Finding> find_peer_access(const Profile& profile, const LineOf& line_of) {
    // A call to enable it may be among what is missing.
    if (profile.dropped() != 0 || !profile.trace().file.completeness().whole())
        return {};
    const PeerCopies& copies = profile.counted<PeerCopies>();
    std::map<ids::StackId, PeerLine> lines;
    for (const auto& [site, totals] : copies.without_access()) {
        // A program that enables it somewhere, or was refused, knows why these do without: it measures both,
        // say. What copies reach without a link of their own has to be measured.
        const facts::DevicePair pair = facts::pair_of(site.from, site.to);
        const facts::Peers& peers = copies.peers();
        const bool linked = peers.linked(pair);
        if (!peers.asked_for(pair) && (linked || profile.rates().peer > 0))
            add_site(lines[line_of(site.call.stack)], profile, site, totals, linked);
    }
    return judge_lines(uma_120, profile, lines, describe_peer_access, least_gain_ns);
}

constinit const Rule uma_120{.id = "UMA-120",
                             .name = "peer-access",
                             .title = "copies between devices without peer access",
                             .find = &find_peer_access,
                             .counter = &count<PeerCopies>,
                             .price = Price::rates};

} // namespace umadvisor::rules

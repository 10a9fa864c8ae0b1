/// Copies between two devices that pass through the host, since peer access is not enabled.
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/words.hpp"

#include <map>
#include <set>
#include <utility>

namespace umadvisor::rules {
namespace {

/// To enable peer access takes its time once, which is not known: what is gained has to be well above it.
constexpr double least_gain_ns = 1e6;
/// A rate that is no worse than this part of the one with peer access is the same.
constexpr double as_fast = 0.9;

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
void add_site(PeerLine& line, const Profile& profile, const PeerSite& site, const PeerTotals& totals) {
    const machine::Rates& rates = profile.rates();
    const facts::DevicePair pair = facts::pair_of(site.from, site.to);
    const bool linked = profile.peer_copies().peers().linked(pair);
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
    line.pairs.insert(pair);
    line.ways.emplace(site.from, site.to);
}

std::string ways_text(const PeerLine& line) {
    const auto& [from, to] = *line.ways.begin();
    if (line.ways.size() == 1)
        return "from device " + std::to_string(from) + " to device " + std::to_string(to);
    return line.pairs.size() == 1
               ? "between device " + std::to_string(from) + " and device " + std::to_string(to)
               : "between " + count_text(line.pairs.size(), "pair") + " of devices";
}

std::string advise_access(const PeerLine& line, bool runtime) {
    const auto& [low, high] = *line.pairs.begin();
    const std::string each = line.pairs.size() == 1 ? "" : ", and so for each two of these devices";
    const std::string first = std::to_string(low), second = std::to_string(high);
    if (!runtime)
        return "once, before the first copy: cuCtxEnablePeerAccess(context of device " + second +
               ", 0) while that of device " + first + " is current, and the other way round" + each;
    return "once, before the first copy: cudaSetDevice(" + first + "); cudaDeviceEnablePeerAccess(" + second +
           ", 0); and the other way round, cudaSetDevice(" + second + "); cudaDeviceEnablePeerAccess(" + first +
           ", 0)" + each;
}

std::string basis_of(const Profile& profile, const PeerLine& line) {
    const machine::Rates& rates = profile.rates();
    const std::string without = rate_text(rates.to_peer_through_host());
    const std::string spent = line.measured ? "device time of these copies"
                              : rates.peer_through_host > 0
                                  ? "their bytes at " + without + ", the calibrated rate"
                                  : "their bytes at " + without + ", measured between two H100";
    const std::string peer = rate_text(rates.to_peer(line.linked));
    return spent + " less the same bytes at " + peer +
           (rates.peer > 0 ? ", measured on " + rates.whose() : ", measured over NVLink between two H100");
}

Finding describe_peer_access(const Profile& profile, std::uint64_t stack, const PeerLine& line) {
    const auto bytes = static_cast<double>(line.bytes);
    Finding finding;
    finding.rule = &uma_120;
    finding.title = finding.rule->title;
    finding.stack = stack;
    finding.summary = profile.call_name(line.entry) + " " +
                      bytes_text(bytes / static_cast<double>(line.copies)) + " x " +
                      std::to_string(line.copies) + " " + ways_text(line) +
                      ": they could reach each other, but peer access is not enabled, so the driver passes the "
                      "bytes through the host" +
                      (line.measured ? ", " + rate_text(bytes / line.spent_ns * 1e9) : "");
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
    std::map<std::uint64_t, PeerLine> lines;
    for (const auto& [site, totals] : profile.peer_copies().without_access()) {
        // A program that enables it somewhere, or was refused, knows why these do without: it measures both,
        // say. What copies reach without a link of their own has to be measured.
        const facts::DevicePair pair = facts::pair_of(site.from, site.to);
        const facts::Peers& peers = profile.peer_copies().peers();
        if (!peers.asked_for(pair) && (peers.linked(pair) || profile.rates().peer > 0))
            add_site(lines[line_of(site.call.stack)], profile, site, totals);
    }
    std::vector<Finding> findings;
    for (const auto& [stack, line] : lines)
        if (line.peer_ns < as_fast * line.spent_ns && line.spent_ns - line.peer_ns >= least_gain_ns)
            findings.push_back(describe_peer_access(profile, stack, line));
    return findings;
}

constinit const Rule uma_120{.id = "UMA-120",
                             .name = "peer-access",
                             .title = "copies between devices without peer access",
                             .find = &find_peer_access,
                             .price = Price::rates};

} // namespace umadvisor::rules

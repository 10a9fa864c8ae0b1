/// Copies between two devices without peer access.
#pragma once

#include "analyzer/facts/awaited.hpp"
#include "analyzer/facts/peers.hpp"
#include "analyzer/ids/call_site.hpp"

#include <compare>
#include <cstdint>
#include <map>

namespace umadvisor::rules {

/// Below this a copy takes its call's time, whatever way its bytes go.
inline constexpr std::uint64_t least_peer_bytes = 64 * 1024;

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
class PeerCopies {
public:
    explicit PeerCopies(const reader::Dictionary& dictionary) : peers_(dictionary) {}

    void add(const trace::Alloc& record) { peers_.add(record); }
    void add(const trace::Free& record) { peers_.add(record); }
    void add(const trace::Peer& record) { peers_.add(record); }
    void add(const trace::Copy& copy);
    /// The device's time of the copy that carried `sample`.
    void measure(std::uint64_t sample, std::uint64_t nanoseconds);

    const std::map<PeerSite, PeerTotals>& without_access() const { return without_access_; }
    const facts::Peers& peers() const { return peers_; }

private:
    struct Sampled {
        PeerTotals* totals;
        std::uint64_t bytes;
    };
    facts::Peers peers_;
    std::map<PeerSite, PeerTotals> without_access_;
    facts::Awaited<Sampled> awaited_;
};

} // namespace umadvisor::rules

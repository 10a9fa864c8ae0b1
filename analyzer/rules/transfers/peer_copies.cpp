#include "analyzer/rules/transfers/peer_copies.hpp"

#include "analyzer/reader/saturated.hpp"

namespace umadvisor::rules {

void PeerCopies::add(const trace::Copy& copy) {
    if (copy.bytes < least_peer_bytes || copy.status != 0 || copy.captured != 0 || copy.width != 0 ||
        copy.origin != trace::Origin::program)
        return;
    const std::optional<facts::PeerCopy> way = peers_.between_devices(copy);
    if (!way || !way->plain || !peers_.possible(way->pair()) || peers_.enabled(way->pair()))
        return;
    PeerTotals& totals = without_access_[{{copy.stack, copy.entry}, way->from, way->to}];
    ++totals.count;
    reader::add_saturated(totals.bytes, copy.bytes);
    if (copy.sample != 0)
        awaited_.add(copy.sample, {&totals, copy.bytes});
}

void PeerCopies::measure(std::uint64_t sample, std::uint64_t nanoseconds) {
    if (const auto sampled = awaited_.take(sample)) {
        reader::add_saturated(sampled->totals->sampled_bytes, sampled->bytes);
        reader::add_saturated(sampled->totals->sampled_ns, nanoseconds);
    }
}

} // namespace umadvisor::rules

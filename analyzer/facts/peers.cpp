#include "analyzer/facts/peers.hpp"

namespace umadvisor::facts {
namespace {

constexpr std::uint64_t already_enabled = 704; ///< CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

} // namespace

Peers::Peers(const reader::Dictionary& dictionary) : dictionary_(dictionary) {
    for (const trace::PeerLink& link : dictionary.peer_links)
        links_[pair_of(link.device, link.peer)] = link;
}

void Peers::add(const trace::Alloc& record) {
    if (record.status != 0 || record.memory != trace::Memory::device)
        return;
    const bool plain = record.pool == 0 && record.part == 0 && !dictionary_.is_stream_ordered(record.entry);
    places_[record.allocation] = {record.device, plain};
}

void Peers::add(const trace::Peer& record) {
    const DevicePair pair = pair_of(record.device, record.peer);
    asked_for_.insert(pair);
    if (record.action == trace::PeerAction::disable && record.status == 0)
        enabled_.erase(pair);
    else if (record.action == trace::PeerAction::enable &&
             (record.status == 0 || record.status == already_enabled))
        enabled_.insert(pair);
}

std::optional<PeerCopy> Peers::between_devices(const trace::Copy& copy) const {
    if (copy.source_memory != trace::Memory::device || copy.destination_memory != trace::Memory::device)
        return std::nullopt;
    const Place* const from = places_.find(copy.source_allocation);
    const Place* const to = places_.find(copy.destination_allocation);
    if (from == nullptr || to == nullptr || from->device == to->device)
        return std::nullopt;
    return PeerCopy{from->device, to->device, from->plain && to->plain};
}

bool Peers::possible(const DevicePair& pair) const {
    const auto found = links_.find(pair);
    return found != links_.end() && found->second.access != 0;
}

bool Peers::linked(const DevicePair& pair) const {
    const auto found = links_.find(pair);
    return found != links_.end() && found->second.native_atomics != 0;
}

} // namespace umadvisor::facts

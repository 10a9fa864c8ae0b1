/// Which devices could reach each other's memory: PeerLink records.
#pragma once

#include <cstdint>

namespace umadvisor::observe {

/// The program copies from device memory of `device` to that of `peer`, which are two ordinals. Asks the driver
/// and writes a record, once for two devices, whichever of them the source is. Thread-safe; takes no lock.
void tell_peer_link(std::uint32_t device, std::uint32_t peer) noexcept;

} // namespace umadvisor::observe

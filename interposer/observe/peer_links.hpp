/// Which devices could reach each other's memory: PeerLink records.
#pragma once

#include <cstdint>

namespace umadvisor::observe {

/// The program copies from memory of device `device` to memory of device `peer`. Asks the driver and writes a
/// record, once for a pair of devices in either direction. Thread-safe; does not lock.
void record_peer_link(std::uint32_t device, std::uint32_t peer) noexcept;

} // namespace umadvisor::observe

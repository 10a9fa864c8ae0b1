#pragma once

#include <array>
#include <cstdint>

namespace simcuda {

/// What cuDeviceGetUuid answers for the device; the driver's tools interface names it so too.
std::array<std::uint8_t, 16> device_uuid(int device);

} // namespace simcuda

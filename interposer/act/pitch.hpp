/// The rows of cuMemAllocPitch.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstddef>

namespace umadvisor::act {

/// Bytes from row to row where the driver pads rows of `width` bytes, of elements of `element`: a multiple of
/// what it makes of a single element, which it is asked once a device and element. 0: it does not tell.
std::size_t pitch_of(CUdevice device, std::size_t width, unsigned element) noexcept;

} // namespace umadvisor::act

#include "interposer/act/pitch.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/attach/real.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

/// Where a full card leaves nothing to ask with. As on an H200; what programs rely on divides it.
constexpr std::size_t usual_unit = 512;

/// 4, 8 and 16 bytes are all that the driver takes.
constexpr unsigned elements = 3;
constinit std::atomic<std::size_t> units[policy::max_devices][elements];

std::size_t ask_unit(unsigned element) {
    CUdeviceptr row = 0;
    std::size_t pitch = 0;
    const CUresult answer = real<Entry::cuMemAllocPitch_v2>()(&row, &pitch, element, 1, element);
    if (answer != CUDA_SUCCESS)
        return answer == CUDA_ERROR_OUT_OF_MEMORY ? usual_unit : 0;
    real<Entry::cuMemFree_v2>()(row);
    return std::has_single_bit(pitch) ? pitch : 0;
}

} // namespace

std::size_t pitch_of(CUdevice device, std::size_t width, unsigned element) noexcept {
    if ((element != 4 && element != 8 && element != 16) || width == 0)
        return 0;
    std::atomic<std::size_t>& known = units[device][std::countr_zero(element) - 2];
    std::size_t unit = known.load(std::memory_order_relaxed);
    if (unit == 0)
        known.store(unit = ask_unit(element), std::memory_order_relaxed);
    return unit == 0 || width > SIZE_MAX - (unit - 1) ? 0 : (width + unit - 1) & ~(unit - 1);
}

} // namespace umadvisor::act

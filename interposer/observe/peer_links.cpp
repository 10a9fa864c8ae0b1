#include "interposer/observe/peer_links.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/slow_path.hpp"

#include <algorithm>
#include <atomic>

namespace umadvisor::observe {

namespace {

using attach::Entry;
using attach::real;

constexpr std::uint32_t most_devices = 64;
constinit std::atomic<std::uint64_t>
    recorded[most_devices]{}; ///< by the lower ordinal, a bit for each higher one

bool reaches(CUdevice device, CUdevice peer, int& can) {
    return real<Entry::cuDeviceCanAccessPeer>()(&can, device, peer) == CUDA_SUCCESS;
}

bool have_native_atomics(CUdevice device, CUdevice peer) {
    int value = 0;
    return attach::available(Entry::cuDeviceGetP2PAttribute) &&
           real<Entry::cuDeviceGetP2PAttribute>()(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                                  device, peer) == CUDA_SUCCESS &&
           value != 0;
}

} // namespace

void record_peer_link(std::uint32_t device, std::uint32_t peer) noexcept {
    const auto [low, high] = std::minmax(device, peer);
    if (high >= most_devices || !record::recording())
        return;
    const std::uint64_t bit = std::uint64_t{1} << high;
    if ((recorded[low].load(std::memory_order_relaxed) & bit) != 0 ||
        (recorded[low].fetch_or(bit, std::memory_order_relaxed) & bit) != 0)
        return;
    if (!attach::available(Entry::cuDeviceCanAccessPeer))
        return;
    const record::SlowPath slow;
    const auto from = static_cast<CUdevice>(device), to = static_cast<CUdevice>(peer);
    if (int there = 0, back = 0; reaches(from, to, there) && reaches(to, from, back)) {
        trace::PeerLink record;
        record.device = device;
        record.peer = peer;
        record.access = there != 0 && back != 0;
        record.native_atomics = have_native_atomics(from, to);
        record::define(record);
    }
}

} // namespace umadvisor::observe

/// The devices as actions see them, and what is allocated there. Thread-safe; filled in once, after cuInit.
#pragma once

#include "interposer/act/action.hpp"
#include "policy/rewrite_policy.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::act {

struct DeviceCount {
    int all = 0, able = 0; ///< able: with concurrentManagedAccess, and memory of its own
    int one_pool = 0;      ///< share one memory with the host
    int coherent = 0;      ///< have memory of their own, and hardware that reaches the host's
    int hmm = 0;           ///< whose kernels reach pageable memory by page faults
    int read_host = 0;     ///< whose hardware reads pageable memory, one memory or two
};

/// Asks each device what it can do.
DeviceCount learn_devices(const runtime::Options& options) noexcept;

/// The current context's device; -1 if there is none or it is left alone.
CUdevice current_device() noexcept;

/// The current context, if the stream is one of its own; else null.
CUcontext current_context_of(CUstream stream) noexcept;

/// For 0 <= device < max_devices.
policy::DeviceState state_of(CUdevice device) noexcept;

/// Bytes of managed memory that fit the device beside everything else that is known to be on it.
std::uint64_t managed_capacity(CUdevice device) noexcept;

/// Asks the driver how much other memory is on the device, which is the current context's, if `needed` bytes
/// beside the `held` bytes of managed memory might not fit.
void note_others_for(CUdevice device, std::uint64_t held, std::uint64_t needed) noexcept;

/// Notes how much other memory is on the device, which is the current context's, before managed memory fills
/// it. Asks the driver once, which takes some 50 us.
void note_others(CUdevice device) noexcept;

/// How much rewritten memory there may be.
struct Budget {
    std::uint64_t bytes;
    bool of_all_devices; ///< else of each
};

/// An allocation is to be rewritten, or has been freed. False, and nothing changed, if it exceeds the budget.
bool reserve_rewritten(CUdevice device, std::uint64_t bytes, Budget budget) noexcept;
void remove_rewritten(CUdevice device, std::uint64_t bytes) noexcept;

/// Whether --pretend-memory leaves the current device no room for `bytes` beside what is not rewritten. One
/// load without it.
bool pretended_card_is_full(std::uint64_t bytes) noexcept;

/// Bytes from row to row for rows of `width` bytes, of elements of `element` bytes: a multiple of the pitch
/// that the driver gives a single element, which it is asked for once per device and element size. 0: not
/// known.
std::size_t pitch_of(CUdevice device, std::size_t width, unsigned element) noexcept;

} // namespace umadvisor::act

/// What a call for memory has of the driver besides the memory: an allocation reports that earlier work of the
/// context has failed; a free does so, too, after it has waited for all work of the context. Thread-safe.
///
/// Other threads may capture meanwhile: no capture is invalidated, as it would be by cuCtxSynchronize and by
/// queries of the legacy stream (CUDA C++ Programming Guide, "Prohibited and Unhandled Operations").
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::act {

/// The error of earlier work of the current context, which has this number (observe/contexts.hpp).
CUresult error_of_work(std::uint16_t context_number) noexcept;

/// Waits for all work of the current context, as cuMemFree does. Returns its answer.
CUresult wait_as_free_does(std::uint16_t context_number) noexcept;

/// Bytes that this holds on the device (-1: on all devices).
std::uint64_t bytes_for_waits(CUdevice device) noexcept;

/// Gives these back to the driver. Returns whether there were any.
bool give_back_for_waits() noexcept;

/// The context is gone, and all of its objects.
void forget_work(std::uint16_t context_number) noexcept;

} // namespace umadvisor::act

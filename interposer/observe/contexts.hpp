/// Numbers of contexts and devices, by which the memory is found that is freed with them.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// Number of a context, from 1 on. Handles are used again for other contexts, numbers are not. 0: no context,
/// or too many. Does not lock for a known context.
std::uint16_t context_number(CUcontext context) noexcept;

/// Number of the calling thread's current context.
std::uint16_t current_context_number() noexcept;

/// A number for memory that belongs to no context but is freed when the device is reset: stream-ordered memory.
std::uint16_t device_number(std::uint32_t device) noexcept;

/// The context is about to be destroyed, or the device to be reset; after that the handle gets another number.
/// Returns the number that it had; 0: none.
std::uint16_t retire_context(CUcontext context) noexcept;
std::uint16_t retire_device(std::uint32_t device) noexcept;

/// `context` was made of a part of a device: its memory goes with `primary`, the device's own context.
void join_context(CUcontext context, CUcontext primary) noexcept;
/// Whether there was such a context.
bool any_is_joined() noexcept;

/// The context was not destroyed after all. Memory that another thread has allocated meanwhile has another
/// number, which becomes an alias of the context's.
void restore_context(CUcontext context, std::uint16_t number) noexcept;
void restore_device(std::uint32_t device, std::uint16_t number) noexcept;

/// Removes an alias of the number `own` of a context or device and returns it; 0: none is left.
std::uint16_t take_alias(std::uint16_t own) noexcept;

/// Ordinal of the context's device; 0 if the driver gives none.
std::uint32_t device_of(CUcontext context) noexcept;

/// Ordinal of the calling thread's current device; 0 where there is none.
std::uint32_t current_device() noexcept;

/// Ordinal of the device that the memory was made for, which is not the current one if the pool or the stream
/// is of another. The driver is asked only if there are several devices.
std::uint32_t device_of_memory(std::uint64_t address) noexcept;

} // namespace umadvisor::observe

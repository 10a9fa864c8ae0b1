/// Contexts and devices: whose memory goes when a context does.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// Number of a context, 1 on. Handles come back with another context behind them, numbers do not. 0: no
/// context, or more than can be told apart. Takes no lock for a known one.
std::uint16_t context_number(CUcontext context) noexcept;

/// Of the calling thread's current context.
std::uint16_t current_context_number() noexcept;

/// A number for what belongs to no context but goes when the device is reset: its stream-ordered memory.
std::uint16_t device_number(std::uint32_t device) noexcept;

/// The context, or the device, is about to go: from now on the handle means another one. Returns the number
/// that it had; 0: never seen.
std::uint16_t retire_context(CUcontext context) noexcept;
std::uint16_t retire_device(std::uint32_t device) noexcept;

/// `context` was made of a part of a device: its memory goes with `primary`, the device's own context.
void join_context(CUcontext context, CUcontext primary) noexcept;

/// It did not go. What another thread has allocated meanwhile stands under another number, which is one of the
/// context's from now on.
void restore_context(CUcontext context, std::uint16_t number) noexcept;
void restore_device(std::uint32_t device, std::uint16_t number) noexcept;

/// Another number of the context or device whose own is `own`, each once; 0: no more.
std::uint16_t take_number_beside(std::uint16_t own) noexcept;

/// Ordinal of the context's device; 0 where the driver does not tell.
std::uint32_t device_of(CUcontext context) noexcept;

/// Ordinal of the calling thread's current device; 0 where there is none.
std::uint32_t current_device() noexcept;

/// Ordinal of the device that the memory was made for: with a pool or a stream of another device that is not
/// the current one. The driver is asked only where there are several.
std::uint32_t device_of_memory(std::uint64_t address) noexcept;

} // namespace umadvisor::observe

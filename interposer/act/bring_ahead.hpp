/// Moving what the next launch is expected to reach while the current one runs.
#pragma once

#include "interposer/act/bring.hpp"

#include <cstdint>

namespace umadvisor::act {

/// Only where the device is full and we make room ourselves: elsewhere what is missing is what the host took,
/// and nobody knows whether it is done with it. All moves are on a stream of our own, behind what was launched
/// before the current launch; the next launch on the same stream waits for them. Thread-safe: one thread at a
/// time brings anything ahead, the others go without.

/// A launch is about to be made: its stream waits for what was brought ahead.
void await_ahead(CUstream stream) noexcept;

/// Before a launch, once what it reaches is on its way: finds what to bring for the next one.
void plan_ahead(const observe::Touched& running, Launching launch) noexcept;
/// After it: has that moved.
void bring_ahead() noexcept;

/// The context is gone, and our stream in it.
void forget_ahead(std::uint16_t context_number) noexcept;

} // namespace umadvisor::act

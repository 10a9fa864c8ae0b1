/// What umadvisor does to the program when asked to: plain decisions turned into driver calls.
///
/// Every action is recorded with origin umadvisor. One that is refused or fails leaves the program exactly as
/// it would have been; a mode whose actions keep failing switches itself off with one Notice. Nothing happens
/// during stream capture. All functions are thread-safe.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/runtime/options.hpp"

namespace umadvisor::act {

/// Asks the devices what they can do and switches on the modes asked for; refuses, with one line and a Notice,
/// what no device can. After cuInit.
void initialize(const runtime::Options& options) noexcept;

/// The same where there is no trace: no action without a record of it.
void refuse_unrecorded(const runtime::Options& options) noexcept;

/// The allocation is gone.
void forget(const observe::Allocation& allocation) noexcept;

/// The context is gone (contexts.hpp).
void forget_context(std::uint16_t number) noexcept;

} // namespace umadvisor::act

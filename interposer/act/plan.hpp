/// `--act plan=FILE`: what an earlier run has learned is followed from the first launch on.
#pragma once

#include "interposer/runtime/options.hpp"

#include <cstdint>

namespace umadvisor::act {

/// Reads the plan that the options name, if any, and gives them with the modes that it asks for. One line on
/// stderr and a Notice where it cannot be read: the program runs without it then. Once, before initialize().
runtime::Options with_plan(runtime::Options options) noexcept;

/// Whether the plan says that launches with this stack are never to be prefetched for.
bool never_prefetch(std::uint64_t stack_key) noexcept;
/// Whether it says so of any.
bool forbids_prefetches() noexcept;

/// Whether the plan says that what is allocated with this stack is left to the driver.
bool never_rewrite(std::uint64_t stack_key) noexcept;
/// Whether it says so of any.
bool forbids_rewrites() noexcept;

/// Whether the plan says that copies with this stack are left to the driver.
bool never_stage(std::uint64_t stack_key) noexcept;
/// Whether it says so of any.
bool forbids_staging() noexcept;
/// Bytes that it expects to be staged in all; 0 without a plan.
std::uint64_t planned_stage_bytes() noexcept;

} // namespace umadvisor::act

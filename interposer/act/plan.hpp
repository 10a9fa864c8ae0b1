/// `--act plan=FILE`: what an earlier run has learned is followed from the first launch on.
#pragma once

#include "interposer/runtime/options.hpp"
#include "policy/plan_text.hpp"

#include <cstdint>

namespace umadvisor::act {

/// Reads the plan that the options name, if any, and gives them with the modes that it asks for. One line on
/// stderr and a Notice where it cannot be read: the program runs without it then. Once, before initialize().
runtime::Options with_plan(runtime::Options options) noexcept;

/// Whether the plan says that calls with this stack, by its id, are never to be acted on in one way.
bool plan_leaves(const policy::Plan::Sites policy::Plan::*sites, std::uint64_t stack) noexcept;
/// Bytes that it expects to be staged in all; 0 without a plan.
std::uint64_t planned_stage_bytes() noexcept;

} // namespace umadvisor::act

/// `--act plan=FILE`: applies from the first launch on what an earlier run learned.
#pragma once

#include "interposer/runtime/options.hpp"
#include "policy/plan_text.hpp"

#include <cstdint>

namespace umadvisor::act {

/// Reads the plan that the options name, if any, and returns the options with the modes that it asks for. A
/// plan that cannot be read gives one line on stderr and a Notice, and the program runs without it. Called
/// once, before initialize().
runtime::Options with_plan(runtime::Options options) noexcept;

/// Whether the plan lists the call site with this stack id among those that the mode has to leave alone.
bool plan_leaves(trace::ActMode mode, std::uint64_t stack) noexcept;
/// Bytes that the plan expects to be staged in all; 0 without a plan.
std::uint64_t planned_stage_bytes() noexcept;

} // namespace umadvisor::act

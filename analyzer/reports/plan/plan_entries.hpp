/// Call sites as plans have them.
#pragma once

#include "analyzer/reports/action_lines.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace umadvisor::reports {

using PlanEntries = std::map<std::uint64_t, nlohmann::ordered_json>; ///< by key

std::string key_text(std::uint64_t key);
/// The same in each run; 0: the stack has none, and no plan can name it.
std::uint64_t stack_key(const advice::Report& report, ids::StackId stack);
/// Of the program, for people; empty without a stack.
std::string plan_line(advice::Report& report, ids::StackId stack);

/// A call that something is never done to.
nlohmann::ordered_json never_entry(advice::Report& report, ids::StackId stack, std::string_view why);

/// Calls that modes are to leave alone: one of these for each mode.
using PlanNever = std::array<PlanEntries, trace::act_mode_count>;
constexpr std::size_t index_of(trace::ActMode mode) {
    return static_cast<std::size_t>(mode);
}

/// Adds the calls at which actions lost, by the report's own estimate.
void add_losses(advice::Report& report, PlanNever& never);

template <class Key>
nlohmann::ordered_json values_of(const std::map<Key, nlohmann::ordered_json>& entries) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& [key, entry] : entries)
        list.push_back(entry);
    return list;
}

} // namespace umadvisor::reports

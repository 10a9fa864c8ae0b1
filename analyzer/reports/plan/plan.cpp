#include "analyzer/reports/plan/plan.hpp"

#include <map>
#include <sstream>
#include <string_view>

namespace umadvisor::reports {

using Json = nlohmann::ordered_json;

/// Whether there were any.
bool Plan::add_modes(const advice::Report& report) {
    bool acted = false;
    for (const trace::Option& option : report.trace.dictionary.options) {
        const bool names_modes = option.option == "ACT" || option.option == "PLAN";
        std::istringstream list{std::string(names_modes ? option.value : "")};
        for (std::string mode; std::getline(list, mode, ',');)
            if (!mode.empty() && !mode.starts_with("plan="))
                modes_.insert(mode);
        acted = acted || (names_modes && !option.value.empty());
    }
    return acted;
}

void Plan::add(advice::Report& report) {
    programs_.insert(report.profile.program());
    const bool acted = add_modes(report);
    add_returns(report);
    add_losses(report, never_);
    add_shared(report, never_[index_of(trace::ActMode::rewrite)]);
    staging_.add(report, acted, never_[index_of(trace::ActMode::stage)]);
}

void Plan::add_returns(advice::Report& report) {
    std::map<std::uint64_t, trace::HostReturn> last;
    for (const trace::HostReturn& each : report.trace.dictionary.host_returns)
        if (each.key != 0)
            last.insert_or_assign(each.key, each);
    if (!last.empty())
        modes_.insert("prefetch"); // learned by it, be it under a plan
    for (const auto& [key, each] : last) {
        if (each.given_up != 0)
            given_up_.insert(key);
        else
            returns_[key] = {{"key", key_text(key)},
                             {"first", each.first},
                             {"last", each.last},
                             {"wait", plan_line(report, ids::StackId(each.stack))},
                             {"allocation", plan_line(report, ids::StackId(each.allocation_stack))},
                             {"allocation_bytes", each.bytes}};
    }
}

void Plan::add_shared(advice::Report& report, PlanEntries& never) {
    for (const auto& [stack, totals] : report.profile.exported_sites().sites()) {
        const std::uint64_t key = stack_key(report, stack);
        if (key == 0 || (totals.refused == 0 && never.contains(key)))
            continue;
        never[key] = never_entry(report, stack,
                                 totals.refused != 0
                                     ? "what it allocates is shared with other processes (cuIpcGetMemHandle)"
                                     : "an earlier plan names it");
    }
}

Json Plan::document() const {
    PlanEntries returns = returns_;
    for (const std::uint64_t key : given_up_)
        returns.erase(key);
    std::set<std::string> modes = modes_;
    const Json stage = staging_.stage(never_[index_of(trace::ActMode::stage)]);
    if (!stage.empty())
        modes.insert("stage");
    Json plan{{"schema", "umadvisor-plan-1"},
              {"programs", programs_},
              {"modes", modes},
              {"host_returns", values_of(returns)},
              {"stage", stage}};
    for (std::size_t i = 0; i < never_.size(); ++i)
        if (trace::act_modes[i].planned)
            plan[fmt::format("never_{}", trace::act_modes[i].name)] = values_of(never_[i]);
    return plan;
}

} // namespace umadvisor::reports

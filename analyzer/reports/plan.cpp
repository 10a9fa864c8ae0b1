#include "analyzer/reports/plan.hpp"

#include "analyzer/findings/words.hpp"
#include "analyzer/reports/action_lines.hpp"

#include <cstdio>
#include <sstream>
#include <string_view>

namespace umadvisor::reports {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t fewest_calls = 4; ///< before a call site is judged

std::string key_text(std::uint64_t key) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(key));
    return text;
}

std::string plan_line(Report& report, std::uint64_t stack) {
    return stack == 0 ? "" : report.symbolizer.line(stack).text();
}

std::uint64_t stack_key(const Report& report, std::uint64_t stack) {
    const auto& frames = report.trace.dictionary.frames;
    const auto found = frames.find(stack);
    return found == frames.end() ? 0 : found->second.key;
}

Json values_of(const std::map<std::uint64_t, Json>& entries) {
    Json list = Json::array();
    for (const auto& [key, entry] : entries)
        list.push_back(entry);
    return list;
}

} // namespace

void Plan::add(Report& report) {
    programs_.insert(report.profile.program());
    for (const trace::Option& option : report.trace.dictionary.options) {
        const bool names_modes = option.option == "ACT" || option.option == "PLAN";
        std::istringstream list{std::string(names_modes ? option.value : "")};
        for (std::string mode; std::getline(list, mode, ',');)
            if (!mode.empty() && !mode.starts_with("plan="))
                modes_.insert(mode);
    }
    add_returns(report);
    add_losses(report);
    add_shared(report);
}

void Plan::add_returns(Report& report) {
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
                             {"wait", plan_line(report, each.stack)},
                             {"allocation", plan_line(report, each.allocation_stack)},
                             {"allocation_bytes", each.bytes}};
    }
}

void Plan::add_losses(Report& report) {
    for (const ActionLine& line : action_lines(report)) {
        if (line.kind != model::ActionKind::to_device)
            continue;
        for (const ActionPlace& place : line.places) {
            const std::uint64_t key = stack_key(report, place.stack);
            if (key != 0 && place.totals.count >= fewest_calls && place.gain_ns.value_or(0) < 0)
                never_prefetch_[key] = {{"key", key_text(key)},
                                        {"line", plan_line(report, place.stack)},
                                        {"why", "its " + findings::count_text(place.totals.count, "prefetch") +
                                                    " lost about " + findings::time_text(-*place.gain_ns)}};
        }
    }
}

void Plan::add_shared(Report& report) {
    for (const auto& [stack, totals] : report.profile.exported_sites().sites()) {
        const std::uint64_t key = stack_key(report, stack);
        if (key == 0 || (totals.refused == 0 && never_rewrite_.contains(key)))
            continue;
        never_rewrite_[key] = {
            {"key", key_text(key)},
            {"line", plan_line(report, stack)},
            {"why", totals.refused != 0 ? "what it allocates is shared with other processes (cuIpcGetMemHandle)"
                                        : "an earlier plan names it"}};
    }
}

Json Plan::document() const {
    std::map<std::uint64_t, Json> returns = returns_;
    for (const std::uint64_t key : given_up_)
        returns.erase(key);
    return {{"schema", "umadvisor-plan-1"},
            {"programs", programs_},
            {"modes", modes_},
            {"host_returns", values_of(returns)},
            {"never_prefetch", values_of(never_prefetch_)},
            {"never_rewrite", values_of(never_rewrite_)}};
}

} // namespace umadvisor::reports

#include "analyzer/reports/json/locked_json.hpp"

#include "analyzer/reports/locked_lines.hpp"
#include "analyzer/reports/place_json.hpp"

#include <optional>

namespace umadvisor::reports {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<std::uint64_t>& number) {
    return number ? Json(*number) : Json();
}

} // namespace

Json locked_json(advice::Report& report) {
    const tables::LockedTotals& all = report.profile.lifetimes().locked();
    if (all.count == 0)
        return {};
    const auto [locked_limit, memory_limit] = rules::lock_limits(report.profile);
    Json lines = Json::array();
    for (const LockedLine& line : locked_lines(report)) {
        const tables::LockedTotals& locked = line.locked;
        Json object{{"memory", name(line.memory)},
                    {"call", report.profile.call_name(line.entry)},
                    {"line", place_json(report, line.stack)},
                    {"count", locked.count},
                    {"bytes", locked.bytes},
                    {"peak_count", locked.peak},
                    {"peak_bytes", locked.peak_bytes},
                    {"copied_bytes", locked.copied_bytes},
                    {"reached_by_kernels", locked.by_kernels},
                    {"use_known", !locked.unknown},
                    {"in_flight_count", line.flights ? Json(line.flights->most_buffers) : Json()},
                    {"in_flight_bytes", line.flights ? Json(line.flights->most_bytes) : Json()},
                    {"lock_time_ns", report.profile.nanoseconds(locked.lock_ticks)},
                    {"unlock_time_ns", report.profile.nanoseconds(locked.unlock_ticks)},
                    {"far_bytes", locked.far_bytes},
                    {"far_node", locked.far_bytes == 0 ? Json() : Json(locked.far_node - 1)}};
        lines.push_back(std::move(object));
    }
    return {{"peak_bytes", all.peak_bytes},
            {"lock_limit_bytes", or_null(locked_limit)},
            {"memory_limit_bytes", or_null(memory_limit)},
            {"lock_time_ns", report.profile.nanoseconds(all.lock_ticks)},
            {"unlock_time_ns", report.profile.nanoseconds(all.unlock_ticks)},
            {"lines", std::move(lines)}};
}

} // namespace umadvisor::reports

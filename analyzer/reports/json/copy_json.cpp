#include "analyzer/reports/json/copy_json.hpp"

#include "analyzer/reports/pageable_lines.hpp"
#include "analyzer/reports/place_json.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

namespace umadvisor::reports {
namespace {

using Json = nlohmann::ordered_json;

/// A program whose code is generated may copy on any number of lines.
constexpr std::size_t most_copy_lines = 1'000;

} // namespace

Json copies_json(const rules::Profile& profile) {
    std::map<std::tuple<facts::Direction, trace::Memory, trace::Memory, bool>, tables::Tally> table;
    for (const auto& [site, totals] : profile.copies().sites()) {
        if (site.stack.outside())
            continue;
        tables::Tally& row = table[{totals.direction, site.source, site.destination, site.asynchronous}];
        row.add(totals.small);
        row.add(totals.large);
    }
    const auto whole = static_cast<double>(profile.inside() ? profile.net_ns() : profile.duration_ns());
    Json list = Json::array();
    for (const auto& [key, row] : table) {
        const auto& [direction, source, destination, asynchronous] = key;
        const std::uint64_t ns = profile.nanoseconds(row.ticks);
        list.push_back({{"direction", name(direction)},
                        {"source_memory", name(source)},
                        {"destination_memory", name(destination)},
                        {"asynchronous", asynchronous},
                        {"count", row.count},
                        {"bytes", row.bytes},
                        {"time_ns", ns},
                        {"fraction", whole > 0 ? static_cast<double>(ns) / whole : 0}});
    }
    return list;
}

Json staged_json(const rules::Profile& profile) {
    const auto tally = [&](facts::Direction direction) {
        const tables::Tally staged = profile.copies().staged(direction);
        return Json{
            {"count", staged.count}, {"bytes", staged.bytes}, {"time_ns", profile.nanoseconds(staged.ticks)}};
    };
    return {{"HtoD", tally(facts::Direction::HtoD)}, {"DtoH", tally(facts::Direction::DtoH)}};
}

void put_copy_lines(advice::Report& report, Json& document) {
    std::map<std::tuple<ids::StackId, facts::Direction, trace::Memory, trace::Memory>, tables::Tally> table;
    for (const auto& [site, totals] : report.profile.copies().sites()) {
        if (site.stack.outside())
            continue;
        tables::Tally& row =
            table[{report.symbolizer.line_stack(site.stack), totals.direction, site.source, site.destination}];
        row.add(totals.small);
        row.add(totals.large);
    }
    std::vector<std::pair<decltype(table)::key_type, tables::Tally>> rows(table.begin(), table.end());
    if (rows.size() > most_copy_lines) {
        std::ranges::stable_sort(rows, std::greater<>(), [](const auto& row) { return row.second.ticks; });
        rows.resize(most_copy_lines);
    }
    Json& list = document["copy_lines"] = Json::array();
    for (const auto& [key, row] : rows) {
        const auto& [stack, direction, source, destination] = key;
        list.push_back({{"line", place_json(report, stack)},
                        {"direction", name(direction)},
                        {"source_memory", name(source)},
                        {"destination_memory", name(destination)},
                        {"count", row.count},
                        {"bytes", row.bytes},
                        {"time_ns", report.profile.nanoseconds(row.ticks)}});
    }
    if (table.size() > rows.size())
        document["copy_lines_left_out"] = table.size() - rows.size();
}

Json pageable_json(advice::Report& report) {
    Json list = Json::array();
    for (const PageableLine& line : pageable_lines(report))
        list.push_back(
            {{"line", place_json(report, line.stack)},
             {"function", symbols::demangle(report.profile.dictionary().function_symbol(line.function))},
             {"memory", name(line.kind)},
             {"bytes", line.bytes},
             {"launches", line.launches}});
    return list;
}

} // namespace umadvisor::reports

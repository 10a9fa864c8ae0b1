#include "analyzer/reports/json/action_json.hpp"

#include "analyzer/reports/action_lines.hpp"
#include "analyzer/reports/notice_text.hpp"
#include "analyzer/reports/place_json.hpp"

namespace umadvisor::reports {
namespace {

/// What a line and a place have in common.
template <class Part>
void add_totals(nlohmann::ordered_json& to, const advice::Report& report, const Part& part) {
    to["count"] = part.totals.count;
    to["failed"] = part.totals.failed;
    to["bytes"] = part.totals.bytes;
    to["time_ns"] = report.profile.nanoseconds(part.totals.ticks);
    to["there_bytes"] = part.wasted.there;
    to["unused_bytes"] = part.wasted.unused;
    to["gain_ns"] = part.gain_ns ? nlohmann::ordered_json(*part.gain_ns) : nlohmann::ordered_json();
}

} // namespace

nlohmann::ordered_json actions_json(advice::Report& report) {
    using Json = nlohmann::ordered_json;
    if (!has_actions(report))
        return nullptr;
    Json lines = Json::array(), notices = Json::array();
    for (const ActionLine& line : action_lines(report)) {
        Json places = Json::array();
        for (const ActionPlace& place : line.places) {
            Json each{{"line", place_json(report, place.stack)}};
            add_totals(each, report, place);
            places.push_back(std::move(each));
        }
        Json each{{"action", tables::text_of(line.kind).name}};
        add_totals(each, report, line);
        each["basis"] = line.basis;
        each["places"] = std::move(places);
        lines.push_back(std::move(each));
    }
    for (const trace::Notice& notice : report.trace.dictionary.notices)
        if (is_action_notice(notice))
            notices.push_back(notice_text(report, notice));
    return {{"lines", std::move(lines)}, {"notices", std::move(notices)}};
}

} // namespace umadvisor::reports

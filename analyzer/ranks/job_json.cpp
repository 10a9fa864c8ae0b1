#include "analyzer/ranks/report.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::ranks {
namespace {

using Json = nlohmann::ordered_json;

Json spread_json(const Comparison& job, const Spread& spread) {
    return {{"min", spread.least},  {"min_rank", job.ranks()[spread.least_rank].who}, {"median", spread.median},
            {"max", spread.most},   {"max_rank", job.ranks()[spread.most_rank].who},  {"sum", spread.sum},
            {"ranks", spread.count}};
}

std::string key_of(Quantity quantity) {
    return std::string(quantity_words[static_cast<std::size_t>(quantity)].key);
}

Json ranks_json(const Comparison& job) {
    Json list = Json::array();
    for (const Comparison::Rank& rank : job.ranks()) {
        Json measured = Json::object();
        for (std::size_t i = 0; i < quantities; ++i)
            measured[key_of(static_cast<Quantity>(i))] = rank.measured[i];
        list.push_back({{"rank", rank.who},
                        {"host", rank.host},
                        {"device", rank.device},
                        {"node", rank.node == 0 ? Json() : Json(rank.node - 1)},
                        {"trace", rank.trace},
                        {"complete", rank.complete},
                        {"measured", std::move(measured)}});
    }
    return list;
}

Json waiting_json(const Comparison& job) {
    const std::optional<Waiting> waiting = job.waiting();
    if (!waiting)
        return nullptr;
    return {{"for_rank", job.ranks()[waiting->for_rank].who},
            {"median_ns", waiting->median_ns},
            {"max_ns", waiting->most_ns},
            {"max_rank", job.ranks()[waiting->most_rank].who}};
}

Json deviations_json(const Comparison& job) {
    Json list = Json::array();
    const std::vector<Deviation> deviations = job.deviations();
    const std::vector<std::optional<DeviationPlace>> places = job.places(deviations);
    for (std::size_t i = 0; i < deviations.size(); ++i) {
        const Deviation& deviation = deviations[i];
        Json at;
        if (places[i])
            at = {{"text", places[i]->text}, {"value", places[i]->value}, {"others", places[i]->others}};
        list.push_back({{"rank", job.ranks()[deviation.rank].who},
                        {"quantity", key_of(deviation.quantity)},
                        {"value", deviation.value},
                        {"others", deviation.others},
                        {"place", std::move(at)}});
    }
    return list;
}

Json steps_json(const Comparison& job) {
    Json list = Json::array();
    for (const SharedStep& step : job.steps())
        list.push_back({{"name", step.name},
                        {"domain", step.domain},
                        {"count", step.count},
                        {"median_ns", spread_json(job, step.median_ns)}});
    return list;
}

Json findings_json(const Comparison& job) {
    Json list = Json::array();
    for (const SharedFinding& finding : job.findings())
        list.push_back({{"rule", finding.rule},
                        {"title", finding.title},
                        {"line", finding.line},
                        {"confidence", finding.confidence},
                        {"saving_ns", spread_json(job, finding.ns)},
                        {"saving_bytes", finding.bytes},
                        {"unpriced", finding.unpriced}});
    return list;
}

} // namespace

Json to_json(const Comparison& job) {
    Json measured = Json::object();
    for (std::size_t i = 0; i < quantities && !job.ranks().empty(); ++i)
        measured[key_of(static_cast<Quantity>(i))] = spread_json(job, job.spread(static_cast<Quantity>(i)));
    return {{"schema", "umadvisor-job-1"},  {"program", job.program()},
            {"hosts", job.hosts()},         {"left_out", job.left_out()},
            {"unknown", job.unknown()},     {"clocks_aligned", false},
            {"ranks", ranks_json(job)},     {"measured", std::move(measured)},
            {"waiting", waiting_json(job)}, {"deviations", deviations_json(job)},
            {"steps", steps_json(job)},     {"findings", findings_json(job)}};
}

} // namespace umadvisor::ranks

#include "analyzer/ranks/comparison.hpp"

#include <algorithm>
#include <numeric>

namespace umadvisor::ranks {
namespace {

/// A rank deviates by at least these shares of the others' run, of their bytes, of their rate.
constexpr double least_of_run = 0.05, least_of_bytes = 0.25, least_of_rate = 0.2;
constexpr double least_bytes = 16 << 20;
/// It also deviates by more than this many times the others' median distance from their median.
constexpr double least_of_distance = 4;

/// What a rank does itself. Waiting, collectives and the run as a whole follow from that and from its peers.
constexpr std::array own_work{Quantity::own,     Quantity::copies,    Quantity::calls,
                              Quantity::kernels, Quantity::to_device, Quantity::to_host,
                              Quantity::up_rate, Quantity::down_rate, Quantity::managed};

double median(std::vector<double> values) {
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 != 0)
        return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Values of all ranks, of which a rank's others are all but its own: each of them is looked at once, not once
/// for each rank.
class Ordered {
public:
    explicit Ordered(std::vector<double> values) : values_(std::move(values)) { std::ranges::sort(values_); }

    /// Without one of the value `own`, of which there is one. There are others.
    double median_without(double own) const {
        const auto at = static_cast<std::size_t>(std::ranges::lower_bound(values_, own) - values_.begin());
        const auto other = [&](std::size_t i) { return values_[i < at ? i : i + 1]; };
        const std::size_t others = values_.size() - 1, middle = others / 2;
        return others % 2 != 0 ? other(middle) : (other(middle) + other(middle - 1)) / 2;
    }
    /// How far they are from `from`.
    Ordered distances(double from) const {
        std::vector<double> distances;
        std::ranges::transform(values_, std::back_inserter(distances),
                               [from](double value) { return std::abs(value - from); });
        return Ordered(std::move(distances));
    }

private:
    std::vector<double> values_;
};

Unit unit_of(Quantity quantity) {
    return quantity_words[static_cast<std::size_t>(quantity)].unit;
}

} // namespace

void Comparison::add(const Summary& summary) {
    if (summary.calls == 0) {
        ++(summary.complete ? left_out_ : unknown_);
        return;
    }
    const std::size_t rank = ranks_.size();
    hosts_.insert(summary.host);
    ranks_.push_back({summary.who(), summary.host, summary.device, summary.trace, summary.pid, summary.node,
                      summary.complete, summary.measured});
    // A rank may have several processes.
    const auto [first, fresh] = named_.try_emplace(summary.who(), rank);
    if (!fresh && !summary.rank.empty())
        for (const std::size_t each : {first->second, rank})
            ranks_[each].who = first->first + ", pid " + std::to_string(ranks_[each].pid);
    if (program_.empty())
        program_ = summary.program;
    for (const Step& step : summary.steps) {
        StepValues& values = steps_[{step.domain, step.name}];
        values.medians.emplace_back(rank, step.median_ns);
        values.total_ns += step.total_ns;
        values.count = std::max(values.count, step.count);
        step_ns_[{step.domain, step.name}].emplace_back(rank, step.total_ns);
    }
    for (const Line& line : summary.lines) {
        lines_[line.text].ns.emplace_back(rank, line.ns);
        lines_[line.text].bytes.emplace_back(rank, line.bytes);
    }
    for (const Saving& finding : summary.findings) {
        FindingValues& values = findings_[{finding.rule, finding.line, finding.title}];
        if (!values.ns.empty() && values.ns.back().first == rank)
            values.ns.back().second += finding.ns; // of one line by several calls
        else
            values.ns.emplace_back(rank, finding.ns);
        values.bytes += finding.bytes;
        values.unpriced = values.unpriced && finding.unpriced;
        values.confidence = finding.confidence;
    }
}

Spread Comparison::spread(const Values& values) {
    Spread spread;
    if (values.empty())
        return spread;
    const auto value = &std::pair<std::size_t, double>::second;
    std::tie(spread.least_rank, spread.least) = *std::ranges::min_element(values, {}, value);
    std::tie(spread.most_rank, spread.most) = *std::ranges::max_element(values, {}, value);
    std::vector<double> plain;
    std::ranges::transform(values, std::back_inserter(plain), value);
    spread.median = median(plain);
    spread.sum = std::accumulate(plain.begin(), plain.end(), 0.0);
    spread.count = values.size();
    return spread;
}

Spread Comparison::spread(Quantity quantity) const {
    Values values;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        values.emplace_back(rank, ranks_[rank].measured[static_cast<std::size_t>(quantity)]);
    return spread(values);
}

std::vector<double> Comparison::measured(Quantity quantity) const {
    std::vector<double> values;
    std::ranges::transform(ranks_, std::back_inserter(values), [quantity](const Rank& rank) {
        return rank.measured[static_cast<std::size_t>(quantity)];
    });
    return values;
}

std::vector<Deviation> Comparison::deviations() const {
    std::vector<std::pair<double, Deviation>> found; ///< by how far beyond the bound
    if (ranks_.size() < 2)
        return {};
    const bool meet = spread(Quantity::collectives).most > 0;
    const std::optional<Waiting> waited_for = waiting();
    const Ordered runs(measured(Quantity::run));
    for (const Quantity quantity : own_work) {
        const auto index = static_cast<std::size_t>(quantity);
        const Unit unit = unit_of(quantity);
        const Ordered all(measured(quantity));
        std::map<double, Ordered> distances; ///< by the median of others, of which there are three at most
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            const double value = ranks_[rank].measured[index], middle = all.median_without(value);
            // Of ranks that meet, one whose own code takes longer while no other waits for it only started
            // later.
            if (quantity == Quantity::own && meet && (!waited_for || waited_for->for_rank != rank))
                continue;
            if (unit == Unit::rate && (value == 0 || middle == 0))
                continue;
            const double more = unit == Unit::rate ? middle - value : value - middle;
            double least =
                unit == Unit::time
                    ? least_of_run *
                          runs.median_without(ranks_[rank].measured[static_cast<std::size_t>(Quantity::run)])
                : unit == Unit::bytes ? std::max(least_bytes, least_of_bytes * middle)
                                      : least_of_rate * middle;
            auto distance = distances.find(middle);
            if (distance == distances.end())
                distance = distances.emplace(middle, all.distances(middle)).first;
            least =
                std::max(least, least_of_distance * distance->second.median_without(std::abs(value - middle)));
            if (more > least)
                found.push_back({more / least, {rank, quantity, value, middle}});
        }
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, &std::pair<double, Deviation>::first);
    std::vector<Deviation> result;
    std::ranges::transform(found, std::back_inserter(result), &std::pair<double, Deviation>::second);
    return result;
}

std::vector<std::optional<DeviationPlace>> Comparison::places(const std::vector<Deviation>& deviations) const {
    std::vector<std::optional<DeviationPlace>> result(deviations.size());
    std::multimap<std::size_t, std::size_t> wanted; ///< deviations by rank
    for (std::size_t i = 0; i < deviations.size(); ++i)
        wanted.emplace(deviations[i].rank, i);
    const auto offer = [&](const std::string& text, const Values& values, const auto& concerns) {
        std::optional<Ordered> all; // a rank that does not have the place has 0 of it
        for (const auto& [rank, value] : values)
            for (auto [it, end] = wanted.equal_range(rank); it != end; ++it) {
                const Deviation& deviation = deviations[it->second];
                std::optional<DeviationPlace>& best = result[it->second];
                if (!concerns(deviation.quantity) || value < (deviation.value - deviation.others) / 2)
                    continue;
                if (!all) {
                    std::vector<double> plain(ranks_.size() - values.size());
                    std::ranges::transform(values, std::back_inserter(plain),
                                           &std::pair<std::size_t, double>::second);
                    all.emplace(std::move(plain));
                }
                const double others = all->median_without(value), more = value - others;
                if (more >= (deviation.value - deviation.others) / 2 &&
                    (!best || more > best->value - best->others))
                    best = {text, value, others};
            }
    };
    for (const auto& [text, values] : lines_) {
        offer(text, values.ns,
              [](Quantity quantity) { return quantity == Quantity::copies || quantity == Quantity::calls; });
        offer(text, values.bytes, [](Quantity quantity) {
            return quantity == Quantity::to_device || quantity == Quantity::to_host;
        });
    }
    for (const auto& [name, values] : step_ns_)
        offer("step " + name.second, values, [](Quantity quantity) { return quantity == Quantity::own; });
    return result;
}

std::optional<Waiting> Comparison::waiting() const {
    const auto index = static_cast<std::size_t>(Quantity::collectives);
    if (ranks_.size() < 2)
        return std::nullopt;
    const Spread all = spread(Quantity::collectives);
    std::vector<double> others;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        if (rank != all.least_rank)
            others.push_back(ranks_[rank].measured[index] - all.least);
    const Waiting waiting{all.least_rank, median(others), all.most - all.least, all.most_rank};
    return waiting.median_ns > least_of_run * spread(Quantity::run).median ? std::optional(waiting)
                                                                           : std::nullopt;
}

std::vector<SharedStep> Comparison::steps() const {
    std::vector<std::pair<double, SharedStep>> found;
    for (const auto& [key, values] : steps_)
        if (values.medians.size() >= std::min<std::size_t>(2, ranks_.size()))
            found.push_back({values.total_ns, {key.second, key.first, spread(values.medians), values.count}});
    std::ranges::stable_sort(found, std::ranges::greater{}, &std::pair<double, SharedStep>::first);
    std::vector<SharedStep> result;
    std::ranges::transform(found, std::back_inserter(result), &std::pair<double, SharedStep>::second);
    return result;
}

std::vector<SharedFinding> Comparison::findings() const {
    std::vector<SharedFinding> result;
    for (const auto& [key, values] : findings_) {
        const auto& [rule, line, title] = key;
        result.push_back(
            {rule, title, line, values.confidence, spread(values.ns), values.bytes, values.unpriced});
    }
    std::ranges::stable_sort(result, std::ranges::greater{}, [](const SharedFinding& finding) {
        return std::tuple(finding.is_urgent(), finding.ns.sum, finding.bytes);
    });
    return result;
}

} // namespace umadvisor::ranks

#include "analyzer/rules/finding.hpp"

#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace umadvisor::rules {
namespace {

constexpr std::array<std::string_view, 3> confidences{"low", "medium", "high"};

} // namespace

std::string_view name(Confidence confidence) {
    return confidences[static_cast<std::size_t>(confidence)];
}

std::string_view name(Order order) {
    constexpr std::string_view names[] = {"untouched", "unknown", "kept", "named"};
    return names[static_cast<std::size_t>(order)];
}

std::string_view name(EditKind kind) {
    constexpr std::string_view names[] = {"rework", "remove", "insert_before", "insert_after"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<Confidence> confidence_called(std::string_view text) {
    const auto found = std::ranges::find(confidences, text);
    if (found == confidences.end())
        return std::nullopt;
    return static_cast<Confidence>(found - confidences.begin());
}

std::optional<Difference> difference(const Finding& finding) {
    constexpr std::array<std::string_view, 4> bases{"time of these", "time of both", "time of the calls",
                                                    "time to lock"};
    // "fill_ns" is host code beside the calls.
    constexpr std::array<std::string_view, 9> spent{"time_ns",      "alloc_time_ns",  "free_time_ns",
                                                    "lock_time_ns", "unlock_time_ns", "late_unlock_time_ns",
                                                    "download_ns",  "upload_ns",      "device_ns"};
    const auto begins = [&finding](std::string_view words) { return finding.basis.starts_with(words); };
    if (finding.unpriced || finding.saving_at_most_ns > 0 || finding.saving_ns <= 0 ||
        !std::ranges::any_of(bases, begins))
        return std::nullopt;
    double sum = 0;
    for (const auto& [key, value] : finding.evidence)
        if (key == "fill_ns")
            return std::nullopt;
        else if (key == "free_wait_ns")
            sum -= value;
        else if (std::ranges::find(spent, key) != spent.end())
            sum += value;
    sum = std::max(sum, finding.statement_ns);
    constexpr double rounding_ns = 1;
    if (sum <= 0 || finding.price_ns > sum + rounding_ns)
        return std::nullopt;
    return Difference{sum, std::max(0.0, sum - finding.price_ns)};
}

double within_recorded(const Profile& profile, double saving_ns) {
    const auto recorded = static_cast<double>(profile.net_ns());
    return recorded > 0 ? std::min(saving_ns, recorded) : saving_ns;
}

void add_order_place(Finding& finding, const std::string& what, ids::StackId stack) {
    const auto end = finding.places.begin() + static_cast<std::ptrdiff_t>(finding.order_places);
    const std::pair place(what, stack);
    if (std::find(finding.places.begin(), end, place) != end)
        return;
    finding.places.insert(end, place);
    ++finding.order_places;
}

void fold(Finding& larger, const Finding& part) {
    larger.parts.push_back({part.rule, part.advice, part.order_advice});
    larger.details.push_back(fmt::format("instead, {} ({}) would save {} of the same time: {}", part.rule->id,
                                         part.title, time_text(part.saving_ns), part.advice));
    for (const auto& [what, stack] : std::span(part.places).first(part.order_places))
        add_order_place(larger, what, stack);
}

} // namespace umadvisor::rules

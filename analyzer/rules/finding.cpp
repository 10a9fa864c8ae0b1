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
    larger.details.push_back(fmt::format("includes {} ({}), which alone would save {}: {}", part.rule->id,
                                         part.title, time_text(part.saving_ns), part.advice));
    for (const auto& [what, stack] : std::span(part.places).first(part.order_places))
        add_order_place(larger, what, stack);
}

} // namespace umadvisor::rules

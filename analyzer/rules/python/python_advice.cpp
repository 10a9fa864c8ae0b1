#include "analyzer/rules/python/python_advice.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr std::array advices{
#define PYTHON_ADVICE(rule_id, framework, advice, trap)                                                        \
    PythonAdvice{rule_id, symbols::PythonFramework::framework, advice, trap},
#include "analyzer/rules/python/python_advice.def"
#undef PYTHON_ADVICE
};
static_assert(std::ranges::adjacent_find(advices, std::greater_equal{}, [](const PythonAdvice& each) {
                  return std::pair(each.rule, each.framework);
              }) == advices.end());

} // namespace

const PythonAdvice* python_advice(const Rule& rule, symbols::PythonFramework framework) {
    const auto found = std::ranges::find_if(
        advices, [&](const PythonAdvice& each) { return each.rule == rule.id && each.framework == framework; });
    if (found == advices.end() && framework == symbols::PythonFramework::numba)
        return python_advice(rule, symbols::PythonFramework::none);
    return found == advices.end() ? nullptr : &*found;
}

namespace {

/// " | " stands between what to do for copies to the host and for those to the device. The title says which
/// way the finding's copies go, or does not.
std::string text_of(const PythonAdvice& known, std::string_view title) {
    std::string text(known.advice);
    const std::size_t bar = text.find(" | ");
    if (bar != std::string::npos) {
        const bool up = title.ends_with("host to device"), down = title.ends_with("device to host");
        const std::string first = text.substr(0, bar), second = text.substr(bar + 3);
        const bool first_is_up = first.starts_with("to the device");
        text = up || down ? (up == first_is_up ? first : second) : first + "; " + second;
        if (up || down)
            text.erase(0, text.find(": ") + 2);
    }
    return text + (known.trap.empty() ? "" : fmt::format(". Note: {}", known.trap));
}

/// A finding that was folded into another ends one of its details with its advice.
void advise_part(Finding& finding, Finding::Part& part, const PythonAdvice& known) {
    const auto detail = std::ranges::find_if(finding.details, [&part](const std::string& text) {
        return text.starts_with(fmt::format("instead, {} (", part.rule->id)) && text.ends_with(part.advice);
    });
    if (detail == finding.details.end())
        return;
    detail->resize(detail->size() - part.advice.size());
    part.advice = text_of(known, finding.title) + part.order_advice;
    *detail += part.advice;
}

} // namespace

void advise_in_python(std::vector<Finding>& findings, const FrameworkOf& framework_of) {
    for (Finding& finding : findings) {
        const std::optional<symbols::PythonFramework> framework = framework_of(finding.stack);
        if (!framework)
            continue;
        if (const PythonAdvice* const known = python_advice(*finding.rule, *framework);
            known != nullptr && !finding.advice.starts_with(python_hand_over))
            finding.advice = text_of(*known, finding.title) + finding.order_advice;
        for (Finding::Part& part : finding.parts)
            if (const PythonAdvice* const known = python_advice(*part.rule, *framework))
                advise_part(finding, part, *known);
    }
}

} // namespace umadvisor::rules

#include "analyzer/findings/python_advice.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

namespace umadvisor::findings {
namespace {

constexpr std::array advices{
#define PYTHON_ADVICE(rule_id, framework, advice, trap)                                                        \
    PythonAdvice{rule(rule_id).id, symbols::PythonFramework::framework, advice, trap},
#include "analyzer/findings/python_advice.def"
#undef PYTHON_ADVICE
};
static_assert(std::ranges::adjacent_find(advices, std::greater_equal{}, [](const PythonAdvice& each) {
                  return std::pair(each.rule, each.framework);
              }) == advices.end());

} // namespace

const PythonAdvice* python_advice(const Rule& rule, symbols::PythonFramework framework) {
    const auto found = std::ranges::find_if(
        advices, [&](const PythonAdvice& each) { return each.rule == rule.id && each.framework == framework; });
    return found == advices.end() ? nullptr : &*found;
}

void advise_in_python(std::vector<Finding>& findings, const FrameworkOf& framework_of) {
    for (Finding& finding : findings) {
        const std::optional<symbols::PythonFramework> framework = framework_of(finding.stack);
        const PythonAdvice* const known = framework ? python_advice(*finding.rule, *framework) : nullptr;
        if (known == nullptr)
            continue;
        finding.advice = known->advice;
        if (!known->trap.empty())
            finding.advice += ". Mind: " + std::string(known->trap);
    }
}

} // namespace umadvisor::findings

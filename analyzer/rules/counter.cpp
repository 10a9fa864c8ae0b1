#include "analyzer/rules/counter.hpp"

namespace umadvisor::rules {

Counters::Counters(const Begin& begin) {
    for (const Rule* const rule : rules)
        if (rule->counter != nullptr && !made_.contains(rule->counter))
            made_.emplace(rule->counter, rule->counter(begin, *this));
}

void Counters::finish() const {
    for (const auto& [make, counter] : made_)
        counter->finish();
}

} // namespace umadvisor::rules

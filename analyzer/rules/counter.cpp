#include "analyzer/rules/counter.hpp"

namespace umadvisor::rules {

Counters::Counters(const Begin& begin) {
    for (const Rule* const rule : rules)
        if (rule->counter != nullptr)
            get(begin, rule->counter);
}

const Counter& Counters::get(const Begin& begin, MakeCounter* make) {
    std::unique_ptr<Counter>& made = made_[make];
    if (made == nullptr)
        made = make(begin, *this);
    return *made;
}

void Counters::finish() const {
    for (const auto& [make, counter] : made_)
        counter->finish();
}

} // namespace umadvisor::rules

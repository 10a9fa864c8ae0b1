/// A prefetch of what is there already looks at every block and moves nothing.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t looked_at_bytes = 2 << 20; ///< one block

Advice advise_redundant_prefetch(const Habit& habit) {
    const machine::Rates& rates = habit.memory.profile.rates();
    const std::uint64_t calls = habit.totals.times;
    const auto blocks = static_cast<double>(std::max(calls, habit.totals.bytes / looked_at_bytes));
    return {.text = "move " + prefetch_name(habit.memory) +
                    " out of the loop: call it once, and again only after the other side has used the memory",
            .spared = {.prefetch_ns = static_cast<double>(calls) * rates.prefetch_call_ns +
                                      blocks * rates.prefetch_block_ns,
                       .prefetches = calls},
            .basis = fmt::format("{} for each call and {} for each 2 MiB block that it checks, measured on {}",
                                 time_text(rates.prefetch_call_ns), time_text(rates.prefetch_block_ns),
                                 rates.whose()),
            .confidence = Confidence::medium,
            .details = {},
            .evidence = {{"blocks", blocks}}};
}

} // namespace

const ManagedRule redundant_prefetch{&uma_212, managed::VerdictKind::redundant_prefetch, Lead::prefetch,
                                     "the host uses it here", &advise_redundant_prefetch};

constinit const Rule uma_212{.id = "UMA-212",
                             .name = "redundant-prefetch",
                             .title = "prefetches of memory that is already resident",
                             .find = &find_managed,
                             .price = Price::rates};

} // namespace umadvisor::rules

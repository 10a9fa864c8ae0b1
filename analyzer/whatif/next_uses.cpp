#include "analyzer/whatif/next_uses.hpp"

namespace umadvisor::whatif {

std::vector<std::uint32_t> next_uses(const Job& job) {
    std::vector<std::uint32_t> uses(job.accesses());
    std::vector<std::uint32_t> next(job.extents().size(), never);
    std::size_t slot = uses.size();
    for (std::size_t number = job.steps().size(); number-- > 0;) {
        const Step& step = job.steps()[number];
        if (step.kind != StepKind::launch)
            continue;
        const auto reach = job.reach(step);
        slot -= reach.size();
        for (std::size_t i = 0; i < reach.size(); ++i) {
            uses[slot + i] = next[reach[i]];
            next[reach[i]] = static_cast<std::uint32_t>(number);
        }
    }
    return uses;
}

} // namespace umadvisor::whatif

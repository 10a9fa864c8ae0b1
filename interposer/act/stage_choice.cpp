#include "interposer/act/stage_choice.hpp"

#include <algorithm>

namespace umadvisor::act {

unsigned StageChoice::next() noexcept {
    const std::uint32_t run = runs_.fetch_add(1, std::memory_order_relaxed);
    unsigned best = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (unsigned i = 0; i < manners; ++i) {
        const std::uint64_t cost = cost_[i].load(std::memory_order_relaxed);
        if (cost == 0)
            return i;
        if (cost < least) {
            least = cost;
            best = i;
        }
    }
    return run % trial_every == 0 ? run / trial_every % manners : best;
}

void StageChoice::took(unsigned manner, std::uint64_t bytes, std::uint64_t nanoseconds) noexcept {
    if (bytes == 0)
        return;
    const std::uint64_t cost = std::max<std::uint64_t>(1, nanoseconds * 1000 / bytes);
    const std::uint64_t before = cost_[manner].load(std::memory_order_relaxed);
    cost_[manner].store(before == 0 ? cost : (3 * before + cost) / 4, std::memory_order_relaxed);
}

} // namespace umadvisor::act

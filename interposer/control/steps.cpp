#include "interposer/control/steps.hpp"

#include "interposer/record/clock.hpp"

#include <atomic>
#include <pthread.h>

namespace umadvisor::control {

namespace {

using trace::RangeAction;

/// A range that has begun. Only the thread that has claimed it changes it; one that is begun and ended by its
/// id may end in another thread.
struct Open {
    std::atomic<std::uint64_t> key; ///< 0: free
    std::uint64_t begun;
    std::uint32_t inner; ///< ranges that have begun within it and have not ended
};

struct Step {
    static constexpr std::size_t most_open = 32;

    std::string_view name;
    Open open[most_open];
    std::atomic<std::uint64_t> longest;
};
constinit Step steps[most_steps]{};
constinit std::atomic<std::size_t> measured{0};

/// Ranges of a thread nest; those with an id do not. A later thread may have the descriptor of one that has
/// ended, and then has its key.
std::uint64_t key_of_thread() {
    return static_cast<std::uint64_t>(pthread_self());
}

std::uint64_t key_of(std::uint64_t id) {
    return id << 1 | 1; // addresses are even
}

Open* find(Step& step, std::uint64_t key) {
    for (Open& each : step.open)
        if (each.key.load(std::memory_order_acquire) == key)
            return &each;
    return nullptr;
}

/// Where too many are open, the range is not measured.
void begin(Step& step, std::uint64_t key) {
    for (Open& each : step.open) {
        std::uint64_t free = 0;
        if (each.key.load(std::memory_order_relaxed) != 0 ||
            !each.key.compare_exchange_strong(free, ~std::uint64_t{0}, std::memory_order_acquire))
            continue;
        each.begun = record::run_nanoseconds();
        each.inner = 0;
        each.key.store(key, std::memory_order_release);
        return;
    }
}

void end(Step& step, Open& open) {
    const std::uint64_t took = record::run_nanoseconds() - open.begun;
    open.key.store(0, std::memory_order_release);
    std::uint64_t longest = step.longest.load(std::memory_order_relaxed);
    while (took > longest && !step.longest.compare_exchange_weak(longest, took, std::memory_order_relaxed)) {
    }
}

void note(Step& step, RangeAction action, std::string_view text, std::uint64_t id) {
    switch (action) {
    case RangeAction::push:
        if (Open* const outer = find(step, key_of_thread()))
            ++outer->inner;
        else if (text == step.name)
            begin(step, key_of_thread());
        break;
    case RangeAction::pop:
        if (Open* const open = find(step, key_of_thread())) {
            if (open->inner != 0)
                --open->inner;
            else
                end(step, *open);
        }
        break;
    case RangeAction::start:
        if (text == step.name)
            begin(step, key_of(id));
        break;
    case RangeAction::end:
        if (Open* const open = find(step, key_of(id)))
            end(step, *open);
        break;
    case RangeAction::mark:
        break;
    }
}

} // namespace

std::size_t measure_steps(std::string_view name) noexcept {
    const std::size_t number = measured.load(std::memory_order_relaxed);
    steps[number].name = name;
    measured.store(number + 1, std::memory_order_release);
    return number;
}

void note_range(RangeAction action, std::string_view text, std::uint64_t id) noexcept {
    const std::size_t count = measured.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i)
        note(steps[i], action, text, id);
}

std::uint64_t longest_step(std::size_t number) noexcept {
    return steps[number].longest.exchange(0, std::memory_order_relaxed);
}

} // namespace umadvisor::control

#include "interposer/act/left_round.hpp"

#include "interposer/act/knowledge.hpp"
#include "interposer/act/run_time.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/recorder.hpp"
#include "trace/managed_records.hpp"

namespace umadvisor::act {

namespace {

struct Left {
    std::uint64_t waits;               ///< of the thread, so far
    std::uint64_t site;                ///< 0: no round is left alone
    std::uint64_t site_waits;          ///< at its begin
    std::uint64_t least_end, deadline; ///< nanoseconds
};
thread_local constinit Left left{};

void tell(std::uint64_t stack, bool leaves, bool whole) {
    trace::Comparison record;
    record.start = record::now();
    record.stack = stack;
    record.leaves = leaves ? 1 : 0;
    record.whole = whole ? 1 : 0;
    record::write(record);
}

} // namespace

void count_wait() noexcept {
    ++left.waits;
}

bool round_is_left() noexcept {
    return left.site != 0;
}

void end_left_round(std::uint64_t stack) noexcept {
    if (left.site == 0)
        return;
    const std::uint64_t now = run_time();
    const bool whole = left.site == stack && left.site_waits != left.waits && now >= left.least_end;
    if (whole || now > left.deadline) {
        tell(left.site, false, whole);
        left.site = 0;
    } else if (left.site != stack) {
        const record::Guard guard(knowledge.mutex);
        knowledge.compared_rounds.covered(stack);
    }
}

bool leave_round(std::uint64_t stack, std::uint64_t bytes) noexcept {
    if (stack == 0 || left.site != 0)
        return false;
    const std::uint64_t now = run_time();
    {
        const record::Guard guard(knowledge.mutex);
        if (knowledge.turns.tries() || !knowledge.compared_rounds.begins(stack, bytes, left.waits, now))
            return false;
        left.least_end = now + policy::ComparedRounds::least_ns;
        left.deadline = knowledge.compared_rounds.deadline(stack, now);
    }
    left.site = stack;
    left.site_waits = left.waits;
    tell(stack, true, false);
    return true;
}

} // namespace umadvisor::act

#include "analyzer/cli/live/held_by_line.hpp"

#include "analyzer/cli/stack_options.hpp"
#include "analyzer/live/state_snapshot.hpp"
#include "analyzer/reader/error.hpp"

namespace umadvisor::cli {

std::vector<live::HeldLine> read_held_lines(const live::Process& process) {
    std::optional<live::Connection> connection = live::Connection::open(process);
    if (!connection)
        throw reader::Error(fmt::format("process {} has ended", process.text()));
    const live::StateSnapshot snapshot(*connection);
    return live::held_lines(snapshot.path(), silent_stack_options(), most_held_lines);
}

void HeldByLine::take() {
    Entry& entry = entries_[reading_];
    entry.held.known = true;
    try {
        entry.held.lines = result_.get();
        entry.held.trouble.clear();
    } catch (const reader::Error& error) {
        entry.held.trouble = error.what();
    }
}

const HeldByLine::Held& HeldByLine::of(const live::Process& process, const live::Counters& counters) {
    constexpr std::chrono::seconds apart{5};
    if (result_.valid() && result_.wait_for(Clock::duration::zero()) == std::future_status::ready)
        take();
    const std::pair key{process.pid, process.inner_pid};
    Entry& entry = entries_[key];
    const std::uint64_t bytes = counters.device_bytes + counters.managed_bytes + counters.pinned_bytes;
    const bool changed = counters.allocations != entry.allocations || bytes != entry.bytes;
    if (!result_.valid() && (changed || !entry.held.known) && Clock::now() - entry.asked >= apart) {
        entry.allocations = counters.allocations;
        entry.bytes = bytes;
        entry.asked = Clock::now();
        reading_ = key;
        result_ = std::async(std::launch::async, &read_held_lines, process);
    }
    return entry.held;
}

} // namespace umadvisor::cli

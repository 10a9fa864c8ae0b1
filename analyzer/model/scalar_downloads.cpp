#include "analyzer/model/scalar_downloads.hpp"

#include "analyzer/model/direction.hpp"

#include <type_traits>
#include <variant>

namespace umadvisor::model {
namespace {

constexpr std::size_t most_listed = 1024;
/// Copies and sets below take the device no time to speak of.
constexpr std::uint64_t little_bytes = 256 * 1024;

bool is_scalar(const trace::Copy& copy) {
    return copy.source_memory == trace::Memory::device && is_host_memory(copy.destination_memory) &&
           copy.bytes <= scalar_bytes && copy.batch == 0;
}

} // namespace

ScalarDownloads::Thread& ScalarDownloads::state_of(std::uint32_t thread) {
    if (last_ == nullptr || thread != last_number_) {
        last_ = &threads_[thread];
        last_number_ = thread;
    }
    return *last_;
}

void ScalarDownloads::restart(Thread& thread, std::uint64_t end) {
    thread.last_end = end;
    thread.kernels.clear();
    thread.known = true;
    thread.copy = {};
}

void ScalarDownloads::launch(std::uint32_t thread, const Launches::Group* group) {
    Thread& state = state_of(thread);
    if (state.last_end == 0)
        return; // no round
    state.copy = {};
    if (!state.kernels.empty() && state.kernels.back().first == group)
        ++state.kernels.back().second;
    else if (group == nullptr || state.kernels.size() == most_listed)
        state.known = false;
    else
        state.kernels.emplace_back(group, 1);
}

void ScalarDownloads::finish(Thread& thread, const CallSite& site, std::uint64_t blocked, std::uint64_t end,
                             std::uint64_t wait_stack) {
    ScalarTotals& totals = sites_[site];
    ++totals.count;
    totals.wait_stack = wait_stack;
    if (thread.last_end != 0 && thread.last_end < end && thread.known && !thread.kernels.empty()) {
        ++totals.rounds;
        totals.round_ticks += end - thread.last_end;
        totals.blocked_ticks += blocked;
        for (const auto& [kernel, count] : thread.kernels)
            totals.kernels[kernel] += count;
    }
    restart(thread, end);
}

void ScalarDownloads::download(Thread& thread, const trace::Copy& copy) {
    const CallSite site{copy.stack, copy.entry};
    if (copy.asynchronous == 0) {
        finish(thread, site, copy.duration, copy.start + copy.duration, 0);
    } else {
        thread.copy = site;
        thread.copy_ticks = copy.duration;
    }
}

void ScalarDownloads::copy(Thread& thread, const trace::Copy& copy) {
    if (copy.status != 0 || copy.captured != 0 || copy.origin != trace::Origin::program)
        return;
    if (is_scalar(copy)) {
        download(thread, copy);
        return;
    }
    thread.copy = {};
    if (copy.asynchronous == 0)
        restart(thread, 0);
    else if (copy.bytes > little_bytes)
        thread.known = false;
}

void ScalarDownloads::synchronize(Thread& thread, const trace::Sync& sync) {
    if (!waits_for_work(sync))
        return;
    if (thread.copy != CallSite{} && sync.status == 0)
        finish(thread, thread.copy, thread.copy_ticks + sync.duration, sync.start + sync.duration, sync.stack);
    else
        restart(thread, 0);
}

void ScalarDownloads::observe(std::uint32_t thread, const reader::Event& event) {
    if (std::holds_alternative<trace::Launch>(event))
        return; // most events
    std::visit(
        [&](const auto& record) {
            using Record = std::decay_t<decltype(record)>;
            if constexpr (std::is_same_v<Record, trace::Copy>)
                copy(state_of(thread), record);
            else if constexpr (std::is_same_v<Record, trace::Sync>)
                synchronize(state_of(thread), record);
            else if constexpr (std::is_same_v<Record, trace::Set>)
                state_of(thread).known &= record.captured != 0 || record.bytes <= little_bytes;
            else if constexpr (std::is_same_v<Record, trace::GraphLaunch> ||
                               std::is_same_v<Record, trace::HostFunction> ||
                               std::is_same_v<Record, trace::Prefetch>)
                state_of(thread).known = false;
            else if constexpr (std::is_same_v<Record, trace::Free> || std::is_same_v<Record, trace::Pause> ||
                               std::is_same_v<Record, trace::Context>)
                restart(state_of(thread), 0);
        },
        event);
}

bool ScalarDownloads::tells_of(const CallSite& site) const {
    const auto found = sites_.find(site);
    return found != sites_.end() && found->second.rounds * 2 >= found->second.count &&
           found->second.rounds != 0;
}

} // namespace umadvisor::model

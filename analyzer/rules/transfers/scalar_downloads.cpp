#include "analyzer/rules/transfers/scalar_downloads.hpp"
#include "analyzer/facts/waiting.hpp"

#include "analyzer/facts/direction.hpp"

namespace umadvisor::rules {
namespace {

constexpr std::size_t most_listed = 1024;
/// Copies and sets below take the device no time to speak of.
constexpr std::uint64_t little_bytes = 256 * 1024;

bool is_scalar(const trace::Copy& copy) {
    return copy.source_memory == trace::Memory::device && facts::is_host_memory(copy.destination_memory) &&
           copy.bytes <= scalar_bytes && copy.batch == 0;
}

} // namespace

void ScalarDownloads::restart(Thread& thread, std::uint64_t end) {
    thread.last_end = end;
    thread.kernels.clear();
    thread.known = true;
    thread.copy = {};
}

void ScalarDownloads::launch(const tables::Launches::Group* group, Thread& thread) {
    thread.copy = {};
    if (!thread.kernels.empty() && thread.kernels.back().first == group)
        ++thread.kernels.back().second;
    else if (group == nullptr || thread.kernels.size() == most_listed)
        thread.known = false;
    else
        thread.kernels.emplace_back(group, 1);
}

void ScalarDownloads::end_round(Thread& thread, const ids::CallSite& site, std::uint64_t blocked,
                                std::uint64_t end, const ids::CallSite& wait) {
    ScalarTotals& totals = sites_[site];
    ++totals.count;
    totals.wait = wait;
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
    const ids::CallSite site = ids::CallSite::of(copy);
    if (copy.asynchronous == 0) {
        end_round(thread, site, copy.duration, copy.start + copy.duration, {});
    } else {
        thread.copy = site;
        thread.copy_ticks = copy.duration;
    }
}

void ScalarDownloads::add(const trace::Copy& copy, std::uint32_t thread) {
    if (copy.status != 0 || copy.captured != 0 || copy.origin != trace::Origin::program)
        return;
    Thread& state = threads_[thread];
    if (is_scalar(copy)) {
        download(state, copy);
        return;
    }
    state.copy = {};
    if (copy.asynchronous == 0)
        restart(state, 0);
    else if (copy.bytes > little_bytes)
        state.known = false;
}

void ScalarDownloads::add(const trace::Sync& sync, std::uint32_t thread) {
    if (!facts::waits_for_work(sync))
        return;
    Thread& state = threads_[thread];
    if (state.copy != ids::CallSite{} && sync.status == 0)
        end_round(state, state.copy, state.copy_ticks + sync.duration, sync.start + sync.duration,
                  ids::CallSite::of(sync));
    else
        restart(state, 0);
}

void ScalarDownloads::add(const trace::Set& record, std::uint32_t thread) {
    threads_[thread].known &= record.captured != 0 || record.bytes <= little_bytes;
}

bool ScalarDownloads::tells_of(const ids::CallSite& site) const {
    const auto found = sites_.find(site);
    return found != sites_.end() && found->second.rounds * 2 >= found->second.count &&
           found->second.rounds != 0;
}

} // namespace umadvisor::rules

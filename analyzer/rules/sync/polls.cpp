#include "analyzer/rules/sync/polls.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t not_ready = 600; ///< CUDA_ERROR_NOT_READY

} // namespace

void Polls::add(const trace::Sync& record, std::uint32_t thread) {
    if (record.kind != trace::SyncKind::stream_query && record.kind != trace::SyncKind::event_query)
        return;
    PollTotals& totals = sites_[{record.stack, record.entry}];
    Last& last = last_[thread];
    ++totals.queries;
    if (last.not_ready && last.object == record.object)
        totals.between_ticks += record.start - std::min(record.start, last.end);
    last = {record.object, record.start + record.duration, record.status == not_ready};
    if (last.not_ready) {
        ++totals.not_ready;
        totals.not_ready_ticks += record.duration;
    }
}

} // namespace umadvisor::rules

#include "analyzer/rules/sync/host_steps.hpp"

#include "analyzer/facts/waiting.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

/// Less lies between two calls of any program.
constexpr double least_step_ns = 50'000;
/// Smaller downloads take hardly longer than a call, and what the host does behind them may be anything.
constexpr std::uint64_t least_result = 256 * 1024;
/// A host that queues so much before it asks for results does so rarely, as for a checkpoint.
constexpr std::uint64_t many_launches = 128;
/// Uploads of a round are the outcome of the step before, or parameters, if they have at most this share of
/// what comes down.
constexpr std::uint64_t least_reduction = 16;
/// A host that does simple sums and comparisons is no slower. What takes longer is other work.
constexpr double most_ns_per_byte = 4;

bool is_download(const trace::Copy& copy) {
    return (copy.source_memory == trace::Memory::device || copy.source_memory == trace::Memory::array) &&
           facts::is_host_memory(copy.destination_memory);
}

} // namespace

void HostSteps::queue(std::uint32_t thread, ids::StackId stack, std::uint64_t start) {
    many_threads_ |= thread != thread_.value_or(thread);
    thread_ = thread;
    asked_ = nullptr;
    if (open_ == nullptr)
        return;
    HostStepTotals& totals = *open_;
    open_ = nullptr;
    round_ = {};
    const std::uint64_t gap = start - std::min(start, step_start_);
    const std::uint64_t idle = gap - std::min(gap, passed_);
    if (!counts_ || many_threads_ || static_cast<double>(idle) * ns_per_tick_ < least_step_ns)
        return;
    ++totals.steps;
    const double most = most_ns_per_byte / ns_per_tick_ * static_cast<double>(totals.bytes) /
                        static_cast<double>(totals.downloads);
    totals.host_ticks += static_cast<std::uint64_t>(std::min(static_cast<double>(idle), most));
    totals.next_stack = stack;
}

void HostSteps::begin_step(HostStepTotals& totals, std::uint64_t end) {
    open_ = &totals;
    step_start_ = end;
    passed_ = 0;
}

void HostSteps::add(const Launched& launched) {
    if (launched.record.status != 0 || launched.is_node())
        return;
    const reader::Shape* const shape = launched.shape;
    queue(launched.thread, shape != nullptr ? shape->stack : ids::StackId(), launched.record.start);
    ++round_.launches;
    round_.unknown |= shape == nullptr || !shape->scanned || shape->untold != 0 ||
                      std::ranges::any_of(shape->touched, [this](trace::AllocationId allocation) {
                          const trace::Alloc* const memory = live_.find(allocation);
                          return memory != nullptr && (memory->memory == trace::Memory::managed ||
                                                       facts::is_host_memory(memory->memory));
                      });
}

void HostSteps::add(const trace::Copy& record, std::uint32_t thread) {
    if (record.status != 0 || record.captured != 0)
        return;
    if (facts::is_page_locked(record.source_memory) && record.batch == 0) // recording looked before the call
        passed_ += record.content.look_duration;
    queue(thread, ids::StackId::of(record), record.start);
    if (facts::is_host_memory(record.source_memory))
        round_.sent += record.bytes;
    round_.unknown |=
        record.source_memory == trace::Memory::managed || record.destination_memory == trace::Memory::managed;
    if (!is_download(record) || record.bytes < least_result || record.batch != 0 ||
        record.origin != trace::Origin::program)
        return;
    HostStepTotals& totals = sites_[ids::CallSite::of(record)];
    ++totals.downloads;
    totals.bytes += record.bytes;
    totals.call_ticks += record.duration;
    totals.elsewhere += !totals.places.contains(record.destination);
    if (totals.places.size() < most_places)
        totals.places.insert(record.destination);
    const std::uint64_t hash = record.content.part_hash;
    totals.looked += hash != 0 && totals.last_hash != 0;
    totals.same += hash != 0 && totals.last_hash == hash;
    totals.last_hash = hash;
    counts_ = !round_.unknown && round_.launches != 0 && round_.launches < many_launches &&
              round_.sent * least_reduction <= record.bytes;
    if (record.asynchronous != 0)
        asked_ = &totals;
    else
        begin_step(totals, record.start + record.duration + record.content.look_duration);
}

void HostSteps::add(const trace::Sync& record, std::uint32_t thread) {
    if (thread != thread_ || record.status != 0 || !facts::waits_for_work(record))
        return;
    if (asked_ == nullptr) {
        passed_ += record.duration;
        return;
    }
    asked_->call_ticks += record.duration;
    begin_step(*asked_, record.start + record.duration);
    asked_ = nullptr;
}

} // namespace umadvisor::rules

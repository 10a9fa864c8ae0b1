#include "analyzer/tables/statistics.hpp"

#include "analyzer/facts/own_calls.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <variant>

namespace umadvisor::tables {

void Statistics::add(const trace::Copy& copy) {
    if (ids::StackId::of(copy).outside() || copy.status != 0 || copy.captured != 0 ||
        copy.origin == trace::Origin::umadvisor)
        return;
    const facts::Direction direction = facts::direction_of(copy, dictionary_.symbol(copy.entry));
    CopyStatistics& kind =
        copies_[{direction, copy.source_memory, copy.destination_memory, copy.asynchronous != 0}];
    kind.bytes.add(copy.bytes);
    if (facts::is_program_call(copy)) // a batch took its time once
        kind.ticks.add(copy.duration);
}

void Statistics::observe(const reader::ThreadCursor& cursor) {
    std::visit(
        [&](const auto& record) {
            using Record = std::decay_t<decltype(record)>;
            if constexpr (std::is_same_v<Record, trace::Launch>) {
                const reader::Shape* const shape = cursor.shape();
                if (shape == nullptr || shape->stack.outside())
                    return;
                if (record.duration != 0)
                    calls_[shape->entry].add(record.duration, reader::saturated_sum(1, record.stands_for));
                samples_.await(record.sample, [this, function = shape->function](std::uint64_t ns) {
                    kernels_[function].add(ns);
                });
            } else if constexpr (std::is_same_v<Record, trace::DeviceTime>) {
                samples_.measured(record.sample,
                                  record.nanoseconds - std::min(record.nanoseconds, record.floor_nanoseconds));
            } else if constexpr (requires {
                                     record.entry;
                                     record.duration;
                                     record.status;
                                 }) {
                if constexpr (requires { record.stack; })
                    if (ids::StackId::of(record).outside())
                        return;
                if (facts::is_program_call(record))
                    calls_[record.entry].add(record.duration);
            }
            if constexpr (std::is_same_v<Record, trace::Copy>)
                add(record);
        },
        cursor.event());
}

} // namespace umadvisor::tables

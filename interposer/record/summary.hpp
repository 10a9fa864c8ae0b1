/// Counts by call site of the records that a full file drops.
#pragma once

#include "trace/event_records.hpp"
#include "trace/layout.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace umadvisor::record {

/// Slots in a chunk, so that the counts survive SIGKILL like everything else. No lock, no memory of its own;
/// sites beyond its slots share one.
class Summary {
public:
    constexpr Summary() noexcept = default;

    /// Sets the zeroed chunk for the counts of a file. It is part of the trace from the first add() on. Returns
    /// the chunk of the file before the last one, or null: a thread that is in add() may still count in the
    /// last one's.
    std::uint8_t* use(std::uint8_t* chunk) noexcept {
        std::uint8_t* const unused = before_;
        before_ = chunk_.exchange(chunk, std::memory_order_acq_rel);
        begun_.store(false, std::memory_order_relaxed);
        return unused;
    }

    /// Counts a dropped record, if it is of a call that the program made.
    template <class Record>
    void add(const Record& record) noexcept {
        if constexpr (requires {
                          record.entry;
                          record.status;
                      }) {
            std::uint64_t bytes = 0, calls = 1;
            if constexpr (requires { record.bytes; })
                bytes = record.bytes;
            // An Alloc of ours is a call of the program, answered by us.
            if constexpr (requires { record.origin; } && !std::is_same_v<Record, trace::Alloc>)
                if (record.origin == trace::Origin::umadvisor)
                    return;
            if constexpr (requires { record.part; })
                if (record.part != 0) // of a call that has a record of its own
                    return;
            if constexpr (requires { record.batch; })
                calls = record.batch <= 1;
            count(trace::site_key(record.entry, 0, record.stack), calls, record.status, bytes, record.duration);
        }
    }
    void add(const trace::LaunchShape& shape, const trace::Launch& launch) noexcept {
        count(trace::site_key(shape.entry, shape.function, shape.stack), 1, launch.status, 0, launch.duration);
    }

private:
    void count(std::uint64_t site, std::uint64_t calls, std::uint64_t status, std::uint64_t bytes,
               std::uint64_t ticks) noexcept;
    void begin(std::uint8_t* chunk) noexcept;
    static trace::SummarySlot& slot_of(std::uint8_t* chunk, std::uint64_t site) noexcept;

    std::atomic<std::uint8_t*> chunk_{nullptr};
    std::uint8_t* before_ = nullptr;
    std::atomic<bool> begun_{false};
};

extern constinit Summary summary;

} // namespace umadvisor::record

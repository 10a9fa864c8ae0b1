/// In which context, and so on which device, work was done.
#pragma once

#include "trace/records.hpp"

#include <cstdint>
#include <unordered_map>

namespace umadvisor::facts {

/// Handles that name no stream of the program's own (FORMAT.md).
inline constexpr trace::StreamId legacy_stream{0}, other_legacy_stream{1}, stream_of_the_thread{2};

/// Follows the events in the order of time.
class Contexts {
public:
    void add(const trace::Context& record, std::uint32_t thread);
    void add(const trace::Stream& record, std::uint32_t thread);

    struct Place {
        std::uint64_t context = 0; ///< handle, of a green context for its streams; 0: not known
        std::uint64_t device = 0;  ///< ordinal
    };
    /// Where work goes that `thread` puts into `stream` now: a stream is of the context it was made in, the
    /// default streams are of the thread's current one.
    Place of(std::uint32_t thread, trace::StreamId stream) const;

private:
    std::uint64_t current(std::uint32_t thread) const;

    std::unordered_map<std::uint32_t, std::uint64_t> current_;   ///< thread -> context
    std::unordered_map<std::uint64_t, std::uint64_t> devices_;   ///< context -> device
    std::unordered_map<trace::StreamId, std::uint64_t> streams_; ///< stream -> context
};

} // namespace umadvisor::facts

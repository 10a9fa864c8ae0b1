/// Definitions in memory, for traces that begin later.
#pragma once

#include "interposer/record/chunk_writer.hpp"

#include <cstdint>

namespace umadvisor::record {

class Sink;

/// Encoded as in a file. Memory grows with what is defined, which bounds.def limits. Not thread-safe: the
/// owner's lock covers it.
class KeptChunks {
public:
    constexpr KeptChunks() noexcept = default;

    template <class Record>
    void add(const Record& record) noexcept {
        if (writer_.room(trace::encoded_bound(record)) || begin_chunk()) {
            writer_.put(record);
            writer_.commit();
        }
    }

    /// Copies all into chunks of a file. Returns how many these are.
    std::uint32_t write_to(Sink& file) const noexcept;

private:
    bool begin_chunk() noexcept;

    static constexpr std::uint32_t most = 4096;
    std::uint8_t* chunks_[most] = {};
    std::uint32_t count_ = 0;
    ChunkWriter writer_{}; ///< of the last one
};

} // namespace umadvisor::record

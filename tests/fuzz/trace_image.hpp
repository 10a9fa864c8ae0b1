/// A trace taken apart into its chunks, so that what is changed in it still reaches the decoders.
#pragma once

#include "trace/decoder.hpp"
#include "trace/layout.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace umadvisor::fuzz {

using Bytes = std::vector<std::uint8_t>;

struct ImageChunk {
    std::array<std::uint8_t, sizeof(trace::ChunkHeader)> header{};
    Bytes body; ///< the committed bytes

    trace::ChunkKind kind() const;
    std::uint64_t base_time() const;
};

class TraceImage {
public:
    /// An empty trace, complete and closed.
    TraceImage();
    /// Of a trace whose framing is right; what lies behind a chunk's committed bytes is left out.
    explicit TraceImage(const Bytes& file);

    /// The file: framing and checksums are right, whatever stands in the records. Bodies are cut at the size
    /// of a chunk.
    Bytes bytes() const;

    /// Appends `record` to the last chunk of `thread`, or to that of the dictionary; begins a new one where it
    /// is full.
    template <class Record>
    void add(const Record& record, std::uint32_t thread = 1) {
        scratch_.resize(trace::encoded_bound(record));
        const bool definition = static_cast<std::uint8_t>(Record::type) >= 64;
        Open& open = definition ? dictionary_ : of_thread(thread);
        trace::DeltaState state = open.state;
        auto end = trace::encode(scratch_.data(), record, state);
        if (open.begun &&
            chunks[open.chunk].body.size() + static_cast<std::size_t>(end - scratch_.data()) > capacity()) {
            open.begun = false;
            state = {};
            end = trace::encode(scratch_.data(), record, state);
        }
        Bytes& body = begin(open, definition ? trace::ChunkKind::dictionary : trace::ChunkKind::event, thread);
        body.insert(body.end(), scratch_.data(), end);
        open.state = state;
    }

    Bytes header; ///< with the call counters, as long as it says
    std::vector<ImageChunk> chunks;

private:
    struct Open {
        std::uint32_t thread = 0, sequence = 0;
        std::size_t chunk = 0;
        trace::DeltaState state; ///< differences begin at zero: base_time is zero, too
        bool begun = false;
    };
    std::size_t capacity() const;
    Open& of_thread(std::uint32_t thread);
    Bytes& begin(Open& open, trace::ChunkKind kind, std::uint32_t thread);

    Open dictionary_;
    std::vector<Open> threads_;
    Bytes scratch_;
};

/// Nothing where the header's sizes cannot be.
std::optional<TraceImage> image_of(const Bytes& file);

/// Calls `edit(record, append)` for each record of a chunk that can be decoded; it appends what is to stand
/// there. From the first that cannot be decoded on, bytes stay as they are.
template <class Edit>
void edit_records(ImageChunk& chunk, Edit&& edit) {
    if (chunk.kind() == trace::ChunkKind::summary)
        return; // slots, no records
    const Bytes before = std::move(chunk.body);
    chunk.body.clear();
    trace::DeltaState read{chunk.base_time(), 0, 0}, written = read;
    const std::uint8_t *at = before.data(), *const end = at + before.size();
    const auto append = [&](const auto& record) {
        const std::size_t size = chunk.body.size();
        chunk.body.resize(size + trace::encoded_bound(record));
        chunk.body.resize(static_cast<std::size_t>(trace::encode(chunk.body.data() + size, record, written) -
                                                   chunk.body.data()));
    };
    while (at != end) {
        trace::RawRecord raw;
        const std::uint8_t* const next = trace::next_record(at, end, raw);
        bool good = false;
        if (next != nullptr)
            trace::visit_type(raw.type, [&]<class Record>() {
                Record record;
                good = trace::decode(raw, record, read);
                if (good)
                    edit(record, append);
            });
        if (!good)
            break;
        at = next;
    }
    chunk.body.insert(chunk.body.end(), at, end);
}

} // namespace umadvisor::fuzz

#include "interposer/record/dictionary.hpp"

#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/sink.hpp"
#include "trace/records.hpp"

#include <type_traits>

namespace umadvisor::record {

constinit Dictionary dictionary;

namespace {

template <class Record, class... Others>
constexpr bool is_one_of = (std::is_same_v<Record, Others> || ...);

/// What a thread defines anew in each part of a recording.
template <class Record>
constexpr bool is_of_lap = std::is_same_v<Record, trace::Thread>;

/// What would not hold in a later trace.
template <class Record>
constexpr bool is_of_trace =
    is_of_lap<Record> || is_one_of<Record, trace::GraphNode, trace::ManagedSource, trace::Recording>;

} // namespace

template <class Record>
void Dictionary::define(const Record& record) noexcept {
    if (trace::encoded_bound(record) > trace::chunk_capacity)
        return sink.drop(trace::DropReason::oversized);
    const Quiet quiet;
    const Guard guard(mutex_);
    const bool written = record::keeps();
    // A Notice of a recording is of that one alone.
    if (keeps_ && !is_of_trace<Record> && !(written && std::is_same_v<Record, trace::Notice>))
        kept_.add(record);
    if (written)
        (goes_with_lap<Record>(trace::encoded_bound(record)) ? lap_ : file_).put(record);
}

/// A program that makes graphs again and again would fill a ring with their nodes: beyond a share of it they
/// are kept as long as what was recorded with them.
template <class Record>
bool Dictionary::goes_with_lap(std::size_t bytes) noexcept {
    if (!keeps_)
        return false;
    if constexpr (std::is_same_v<Record, trace::GraphNode>)
        return (graph_bytes_ += bytes) > sink.room() / RingLaps::most;
    return is_of_lap<Record>;
}

template <class Record>
void Dictionary::Stream::put(const Record& record) noexcept {
    const std::size_t bound = trace::encoded_bound(record);
    if ((is_stale() || !chunk.room(bound)) && !renew(bound))
        return sink.drop();
    chunk.put(record);
    chunk.commit();
    if (sink.closed()) // no later call writes it out
        seal_and_keep();
}

bool Dictionary::Stream::renew(std::size_t bytes) noexcept {
    if (chunk.header != nullptr) {
        if (!is_stale() && chunk.reopen(trace::chunk_bytes) && chunk.room(bytes))
            return true;
        sink.finish_sealed(chunk);
    }
    const Sink::Claimed claimed = sink.claim(trace::ChunkKind::dictionary, trace::chunk_bytes, number != 0);
    if (claimed.memory == nullptr)
        return false;
    part = claimed.part;
    chunk.begin(claimed.memory, trace::ChunkKind::dictionary, number, sequence++, now());
    return true;
}

void Dictionary::Stream::seal_and_keep() noexcept {
    if (chunk.header == nullptr)
        return;
    chunk.seal();
    sink.keep(chunk.memory());
}

void Dictionary::begin_file() noexcept {
    const Guard guard(mutex_);
    file_.sequence = keeps_ ? kept_.write_to(sink) : 0;
    lap_.sequence = 0;
    graph_bytes_ = 0;
    detail::taking_page.keeps.store(true, std::memory_order_release);
}

void Dictionary::end_file() noexcept {
    const Guard guard(mutex_);
    detail::taking_page.keeps.store(false, std::memory_order_release);
    for (Stream* const stream : {&file_, &lap_})
        if (stream->chunk.header != nullptr)
            sink.finish_sealed(stream->chunk);
}

void Dictionary::seal() noexcept {
    const Guard guard(mutex_);
    file_.seal_and_keep();
    lap_.seal_and_keep();
}

void Dictionary::write_kept_to(Sink& file, const trace::Recording& recording) noexcept {
    std::uint32_t count = 0;
    {
        const Guard guard(mutex_);
        count = kept_.write_to(file);
    }
    std::uint8_t* const memory = file.claim(trace::ChunkKind::dictionary).memory;
    if (memory == nullptr)
        return;
    ChunkWriter chunk{};
    chunk.begin(memory, trace::ChunkKind::dictionary, 0, count, now());
    chunk.put(recording);
    chunk.commit();
    file.finish_sealed(chunk);
}

template <class Record>
void define(const Record& record) noexcept {
    if (recording())
        dictionary.define(record);
}

#define DEFINITION(R) template void define(const trace::R&) noexcept;
#include "trace/records.def"

} // namespace umadvisor::record

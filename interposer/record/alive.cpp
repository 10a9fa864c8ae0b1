#include "interposer/record/alive.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/record/chunk_writer.hpp"
#include "interposer/record/sink.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::record {

constinit Alive alive;

void Alive::drop(Entry& entry) noexcept {
    if (entry.bytes > room)
        blocks_.give(entry.apart, entry.bytes);
    entry.number = 0;
}

void Alive::end(std::uint64_t key) noexcept {
    Entry* const entry =
        entries_.find(key, [key](const Entry& other) { return other.key == key && other.number != 0; });
    if (entry != nullptr)
        drop(*entry);
}

/// Without memory the record is missing in later recordings: they name no such allocation.
void Alive::keep(std::uint64_t key, const std::uint8_t* bytes, std::size_t count) noexcept {
    key |= key == 0;
    end(key);
    Entry* const entry = entries_.add(key);
    if (entry == nullptr)
        return;
    void* const apart = count > room ? blocks_.take(count) : nullptr;
    if (count > room && apart == nullptr)
        count = 0;
    entry->key = key;
    entry->number = ++made_;
    entry->bytes = static_cast<std::uint16_t>(count);
    if (apart != nullptr)
        entry->apart = apart;
    std::memcpy(apart != nullptr ? apart : entry->here, bytes, count);
}

namespace {

/// Writes encoded records into chunks of a file.
class StateChunks {
public:
    explicit StateChunks(Sink& file) noexcept : file_(file) {}

    bool add(const std::uint8_t* record, std::size_t bytes) noexcept {
        if (!chunk_.room(bytes) && !begin_chunk())
            return false;
        std::memcpy(chunk_.at, record, bytes);
        chunk_.at += bytes;
        chunk_.commit();
        return true;
    }
    void end() noexcept {
        if (chunk_.header != nullptr)
            file_.finish_sealed(chunk_);
    }

private:
    bool begin_chunk() noexcept {
        end();
        std::uint8_t* const memory = file_.claim(trace::ChunkKind::state).memory;
        if (memory != nullptr)
            chunk_.begin(memory, trace::ChunkKind::state, 0, sequence_++, file_.beginning());
        return memory != nullptr;
    }

    Sink& file_;
    ChunkWriter chunk_{};
    std::uint32_t sequence_ = 0;
};

} // namespace

bool Alive::write_to(Sink& file, trace::PauseCause cause) const noexcept {
    StateChunks chunks(file);
    const auto all = entries_.slots();
    const auto lives = [](const Entry& entry) { return entry.number != 0 && entry.bytes != 0; };
    const auto count = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), lives));
    const std::size_t list_bytes = (count + 1) * sizeof(const Entry*);
    auto* const sorted = static_cast<const Entry**>(base::map_pages(list_bytes));
    bool whole = sorted != nullptr;
    if (whole) {
        const Entry** last = sorted;
        for (const Entry& entry : all)
            if (lives(entry))
                *last++ = &entry;
        std::sort(sorted, last, [](const Entry* a, const Entry* b) { return a->number < b->number; });
        for (const Entry** each = sorted; whole && each != last; ++each)
            whole = chunks.add((*each)->encoded(), (*each)->bytes);
        base::unmap_pages(sorted, list_bytes);
    }
    trace::Pause pause;
    pause.start = file.beginning();
    pause.recording = 1;
    pause.cause = cause;
    std::uint8_t bytes[256];
    trace::DeltaState state;
    whole = chunks.add(bytes, static_cast<std::size_t>(trace::encode(bytes, pause, state) - bytes)) && whole;
    chunks.end();
    return whole;
}

} // namespace umadvisor::record

#include "interposer/record/kept_chunks.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/sink.hpp"

#include <cstring>

namespace umadvisor::record {

/// Without memory later traces lack some definitions, as they would with a full disk.
bool KeptChunks::begin_chunk() noexcept {
    auto* const memory =
        count_ == most ? nullptr : static_cast<std::uint8_t*>(base::map_pages(trace::chunk_bytes));
    if (memory == nullptr)
        return false;
    chunks_[count_++] = memory;
    writer_.begin(memory, trace::ChunkKind::dictionary, 0, count_ - 1, now());
    return true;
}

std::uint32_t KeptChunks::write_to(Sink& file) const noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) {
        const auto& kept = *reinterpret_cast<const trace::ChunkHeader*>(chunks_[i]);
        std::uint8_t* const memory = file.claim(trace::ChunkKind::dictionary).memory;
        if (memory == nullptr)
            return i;
        ChunkWriter copy{};
        copy.begin(memory, trace::ChunkKind::dictionary, 0, i, kept.base_time);
        const std::uint32_t bytes = kept.committed.load(std::memory_order_relaxed);
        std::memcpy(copy.at, chunks_[i] + sizeof kept, bytes);
        copy.at += bytes;
        copy.commit();
        file.finish_sealed(copy);
    }
    return count_;
}

} // namespace umadvisor::record

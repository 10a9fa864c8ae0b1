/// Memory of the recorder: anonymous pages, never the program's heap (its malloc may be anyone's, and may be
/// the caller).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <sys/mman.h>

namespace umadvisor::record {

/// Zeroed pages that cost nothing until touched; nullptr when there are none.
inline void* map_pages(std::size_t bytes) noexcept {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

/// Keeps copies of texts for good. Not thread-safe: its owner's lock covers it.
class TextArena {
public:
    constexpr TextArena() noexcept = default;

    /// A copy that stays; `good` is false, and the copy empty, when there is no memory. Texts up to a piece
    /// only.
    std::string_view keep(std::string_view text, bool& good) noexcept {
        good = true;
        if (text.empty())
            return {};
        if (text.size() > left_) {
            void* piece = text.size() > piece_bytes ? nullptr : map_pages(piece_bytes);
            good = piece != nullptr;
            if (!good)
                return {};
            at_ = static_cast<char*>(piece);
            left_ = piece_bytes;
        }
        char* copy = at_;
        std::memcpy(copy, text.data(), text.size());
        at_ += text.size();
        left_ -= text.size();
        return {copy, text.size()};
    }

private:
    static constexpr std::size_t piece_bytes = 256 * 1024;
    char* at_ = nullptr;
    std::size_t left_ = 0;
};

} // namespace umadvisor::record

/// Copying from host memory to host memory at the rate of the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace umadvisor::act {

/// memcpy whose stores go past the caches: what is written is not read first, and of a copy that is larger than
/// they are nothing stays. Other threads see it after whatever orders their accesses (Intel 64 and IA-32
/// Architectures Software Developer's Manual, volume 1, 10.4.6.2: the stores are fenced).
/// What is faster, this or memcpy, is a matter of the copy's length and of the machine (StageChoice).
inline void copy_past_caches(char* to, const char* from, std::size_t bytes) noexcept {
#ifdef __SSE2__
    constexpr std::size_t line = 64;
    const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    if (bytes >= head + line) {
        std::memcpy(to, from, head);
        to += head, from += head, bytes -= head;
        for (; bytes >= line; bytes -= line, to += line, from += line) {
            __m128i words[4];
            for (int i = 0; i < 4; ++i)
                words[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + i);
            for (int i = 0; i < 4; ++i)
                _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, words[i]);
        }
        _mm_sfence();
    }
#endif
    std::memcpy(to, from, bytes);
}

} // namespace umadvisor::act

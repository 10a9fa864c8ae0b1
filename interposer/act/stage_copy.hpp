/// Copying from host memory to host memory at the rate of the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace umadvisor::act {

namespace detail {

inline constexpr std::size_t cache_line = 64;

#ifdef __x86_64__
/// One thread that reads 16 bytes at a time keeps too few lines on their way from memory: wider reads move half
/// as much again, and so does asking for lines before they are read.
__attribute__((target("avx512f"))) inline void stream_lines_wide(char* to, const char* from,
                                                                 std::size_t lines) noexcept {
    for (; lines != 0; --lines, to += cache_line, from += cache_line)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
    _mm_sfence();
}

inline void stream_lines(char* to, const char* from, std::size_t lines) noexcept {
    constexpr std::size_t ahead = 2048; // also the next page's translation
    for (; lines != 0; --lines, to += cache_line, from += cache_line) {
        _mm_prefetch(from + ahead, _MM_HINT_T0);
        __m128i words[4];
        for (int i = 0; i < 4; ++i)
            words[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + i);
        for (int i = 0; i < 4; ++i)
            _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, words[i]);
    }
    _mm_sfence();
}
#endif

} // namespace detail

/// memcpy whose stores go past the caches: what is written is not read first, and of a copy that is larger than
/// they are nothing stays. Other threads see it after whatever orders their accesses (Intel 64 and IA-32
/// Architectures Software Developer's Manual, volume 1, 10.4.6.2: the stores are fenced).
inline void copy_past_caches(char* to, const char* from, std::size_t bytes) noexcept {
#ifdef __x86_64__
    using detail::cache_line;
    const std::size_t head = (cache_line - reinterpret_cast<std::uintptr_t>(to) % cache_line) % cache_line;
    if (bytes >= head + cache_line) {
        std::memcpy(to, from, head);
        const std::size_t lines = (bytes - head) / cache_line, done = head + lines * cache_line;
        if (__builtin_cpu_supports("avx512f"))
            detail::stream_lines_wide(to + head, from + head, lines);
        else
            detail::stream_lines(to + head, from + head, lines);
        to += done, from += done, bytes -= done;
    }
#endif
    std::memcpy(to, from, bytes);
}

} // namespace umadvisor::act

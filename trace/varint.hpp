/// LEB128 and zig-zag, the two number encodings of the format.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace umadvisor::trace {

inline constexpr int max_varint_bytes = 10;

/// Writes `value` at `out`; returns the end. The caller has reserved max_varint_bytes, all of which may be
/// written.
inline std::uint8_t* put_varint(std::uint8_t* out, std::uint64_t value) noexcept {
    if (value < 0x80) { // most are this short
        *out = static_cast<std::uint8_t>(value);
        return out + 1;
    }
    if (value < std::uint64_t{1} << 56) { // the others at once: handles differ by seven bytes
        std::uint64_t word = (value & 0x0000'0000'0fff'ffff) | (value & 0x00ff'ffff'f000'0000) << 4;
        word = (word & 0x0000'3fff'0000'3fff) | (word & 0x0fff'c000'0fff'c000) << 2;
        word = (word & 0x007f'007f'007f'007f) | (word & 0x3f80'3f80'3f80'3f80) << 1;
        const int bytes = (std::bit_width(value) + 6) / 7;
        word |= 0x8080'8080'8080'8080 >> (8 * (9 - bytes));
        std::memcpy(out, &word, sizeof word);
        return out + bytes;
    }
    while (value >= 0x80) {
        *out++ = static_cast<std::uint8_t>(value | 0x80);
        value >>= 7;
    }
    *out++ = static_cast<std::uint8_t>(value);
    return out;
}

/// Reads a varint from [in, end). Returns the byte after it, or nullptr when it is cut or longer than 64 bits.
inline const std::uint8_t* get_varint(const std::uint8_t* in, const std::uint8_t* end,
                                      std::uint64_t& value) noexcept {
    value = 0;
    if (in != end && *in < 0x80) { // most are this short
        value = *in;
        return in + 1;
    }
    if (end - in >= 2 && in[1] < 0x80) { // and most others
        value = static_cast<std::uint64_t>(in[1]) << 7 | (in[0] & 0x7f);
        return in + 2;
    }
    if (end - in >= 8) { // the others at once, if they end within a word
        std::uint64_t word = 0;
        std::memcpy(&word, in, sizeof word);
        if (const std::uint64_t last = ~word & 0x8080'8080'8080'8080) {
            const int bits = std::countr_zero(last) + 1;
            word &= 0x7f7f'7f7f'7f7f'7f7f & (~std::uint64_t{0} >> (64 - bits));
            word = (word & 0x007f'007f'007f'007f) | (word & 0x7f00'7f00'7f00'7f00) >> 1;
            word = (word & 0x0000'3fff'0000'3fff) | (word & 0x3fff'0000'3fff'0000) >> 2;
            value = (word & 0x0000'0000'0fff'ffff) | (word & 0x0fff'ffff'0000'0000) >> 4;
            return in + bits / 8;
        }
    }
    for (int shift = 0; shift < 64; shift += 7) {
        if (in == end)
            return nullptr;
        const std::uint8_t byte = *in++;
        if (shift == 63 && byte > 1)
            return nullptr;
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80)
            return in;
    }
    return nullptr;
}

/// The difference of two unsigned numbers, small in either direction, as a small unsigned number.
inline std::uint64_t zigzag(std::uint64_t difference) noexcept {
    return (difference << 1) ^ (0 - (difference >> 63));
}
inline std::uint64_t unzigzag(std::uint64_t coded) noexcept {
    return (coded >> 1) ^ (0 - (coded & 1));
}

} // namespace umadvisor::trace

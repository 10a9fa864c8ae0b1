/// LEB128 and zig-zag, the two number encodings of the format.
#pragma once

#include <bit>
#include <cstdint>

namespace umadvisor::trace {

inline constexpr int max_varint_bytes = 10;

/// Writes `value` at `out`; returns the end. The caller has reserved max_varint_bytes.
inline std::uint8_t* put_varint(std::uint8_t* out, std::uint64_t value) noexcept {
    while (value >= 0x80) {
        *out++ = static_cast<std::uint8_t>(value | 0x80);
        value >>= 7;
    }
    *out++ = static_cast<std::uint8_t>(value);
    return out;
}

/// The same, out of the way.
[[gnu::noinline, gnu::cold]] inline std::uint8_t* put_long_varint(std::uint8_t* out,
                                                                  std::uint64_t value) noexcept {
    return put_varint(out, value);
}

/// The same in a straight line for values below 2^28, for code that other code has pushed out of the caches: a
/// loop's end is guessed wrongly there. Writes up to max_varint_bytes, whatever the value.
[[gnu::always_inline]] inline std::uint8_t* put_varint_straight(std::uint8_t* out,
                                                                std::uint64_t value) noexcept {
    if (value >= 1u << 28) [[unlikely]]
        return put_long_varint(out, value);
    const auto v = static_cast<std::uint32_t>(value);
    const std::uint32_t last = static_cast<std::uint32_t>(std::bit_width(v | 1) - 1) * 37 >> 8; // / 7
    std::uint32_t coded = (v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3;
    coded |= 0x80808080u & ((1u << 8 * last) - 1); // more bytes follow, but for the last
    for (int i = 0; i < 4; ++i)
        out[i] = static_cast<std::uint8_t>(coded >> 8 * i); // one store
    return out + last + 1;
}

/// Reads a varint from [in, end). Returns the byte after it, or nullptr when it is cut or longer than 64 bits.
inline const std::uint8_t* get_varint(const std::uint8_t* in, const std::uint8_t* end,
                                      std::uint64_t& value) noexcept {
    value = 0;
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

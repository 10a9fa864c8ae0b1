/// Python's strings as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace umadvisor::record {

/// Writes `count` characters of `width` bytes each (Latin-1, UCS-2 or UCS-4) as UTF-8, up to `room` bytes.
/// Returns the number of bytes. Bytes of a file's name that Python could not decode are written as they were
/// (PEP 383).
inline std::size_t to_utf8(const std::uint8_t* characters, std::size_t count, unsigned width, char* out,
                           std::size_t room) noexcept {
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t code = 0;
        std::memcpy(&code, characters + i * width, width); // little endian
        char bytes[4];
        std::size_t length = 0;
        const auto put = [&](std::uint32_t byte) { bytes[length++] = static_cast<char>(byte); };
        if (code < 0x80) {
            put(code);
        } else if (0xdc80 <= code && code <= 0xdcff) {
            put(code & 0xff);
        } else if (code < 0x800) {
            put(0xc0 | code >> 6);
            put(0x80 | (code & 0x3f));
        } else if (code < 0x10000) {
            put(0xe0 | code >> 12);
            put(0x80 | (code >> 6 & 0x3f));
            put(0x80 | (code & 0x3f));
        } else {
            put(0xf0 | (code >> 18 & 7));
            put(0x80 | (code >> 12 & 0x3f));
            put(0x80 | (code >> 6 & 0x3f));
            put(0x80 | (code & 0x3f));
        }
        if (size + length > room)
            break;
        std::memcpy(out + size, bytes, length);
        size += length;
    }
    return size;
}

} // namespace umadvisor::record

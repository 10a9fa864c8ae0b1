/// Writing records: type byte, body length, body.
#pragma once

#include "trace/records.hpp"
#include "trace/varint.hpp"

#include <cstring>
#include <string_view>
#include <type_traits>

namespace umadvisor::trace {

/// The values that differences are relative to, in one chunk.
struct DeltaState {
    std::uint64_t time = 0;
    std::uint64_t address = 0;
    std::uint64_t handle = 0;
};

namespace detail {

/// Upper bound of an encoded record's bytes.
struct BoundVisitor {
    std::size_t bytes = 1 + 3; // type, length

    template <class T>
    constexpr void number(std::string_view, const T&) {
        bytes += max_varint_bytes;
    }
    constexpr void time(std::string_view, const std::uint64_t&) { bytes += max_varint_bytes; }
    constexpr void address(std::string_view, const std::uint64_t&) { bytes += max_varint_bytes; }
    constexpr void handle(std::string_view, const auto&) { bytes += max_varint_bytes; }
    constexpr void text(std::string_view, const std::string_view& value) {
        bytes += 3 + (value.size() < max_text ? value.size() : max_text);
    }
    constexpr void numbers(std::string_view, const auto& value) {
        bytes += (1 + value.count) * max_varint_bytes;
    }
};

struct BodyWriter {
    std::uint8_t* at;
    std::uint8_t* meaningful; ///< end of the last field whose encoding is not zero
    DeltaState& state;

    void put(std::uint64_t coded) noexcept {
        at = put_varint(at, coded);
        if (coded != 0)
            meaningful = at;
    }
    template <class T>
    void number(std::string_view, const T& value) noexcept {
        put(static_cast<std::uint64_t>(value));
    }
    void difference(std::uint64_t value, std::uint64_t& last) noexcept {
        put(zigzag(value - last));
        last = value;
    }
    void time(std::string_view, const std::uint64_t& value) noexcept { difference(value, state.time); }
    void address(std::string_view, const std::uint64_t& value) noexcept { difference(value, state.address); }
    void handle(std::string_view, const auto& value) noexcept {
        difference(static_cast<std::uint64_t>(value), state.handle);
    }
    void text(std::string_view, const std::string_view& value) noexcept {
        const std::size_t bytes = value.size() < max_text ? value.size() : max_text;
        put(bytes);
        if (bytes == 0)
            return;
        std::memcpy(at, value.data(), bytes);
        meaningful = at += bytes;
    }
    void numbers(std::string_view, const auto& value) noexcept {
        put(value.count);
        for (const auto number : value)
            at = put_varint(at, static_cast<std::uint64_t>(number));
        if (value.count != 0)
            meaningful = at;
    }
};

} // namespace detail

/// Bytes that encode() may write for `record`, at the most.
template <class Record>
constexpr std::size_t encoded_bound(const Record& record) noexcept {
    detail::BoundVisitor bound;
    Record::fields(record, bound);
    return bound.bytes;
}

/// Writes `record` at `out`, which has encoded_bound(record) bytes, and moves `state` on. Returns the end. Text
/// longer than max_text is cut. Allocates nothing, throws nothing.
template <class Record>
std::uint8_t* encode(std::uint8_t* out, const Record& record, DeltaState& state) noexcept {
    *out++ = static_cast<std::uint8_t>(Record::type);
    // Nearly all bodies are shorter than 128 bytes, so one byte is left for the length; the others are moved.
    detail::BodyWriter writer{out + 1, out + 1, state};
    Record::fields(record, writer);
    const std::size_t bytes = static_cast<std::size_t>(writer.meaningful - (out + 1));
    if (bytes < 0x80) {
        *out = static_cast<std::uint8_t>(bytes);
        return writer.meaningful;
    }
    std::uint8_t length[max_varint_bytes];
    const auto length_bytes = static_cast<std::size_t>(put_varint(length, bytes) - length);
    std::memmove(out + length_bytes, out + 1, bytes);
    std::memcpy(out, length, length_bytes);
    return out + length_bytes + bytes;
}

} // namespace umadvisor::trace

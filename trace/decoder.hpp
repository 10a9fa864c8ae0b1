/// Reads records. It trusts nothing: every length is checked against the bytes that are there.
#pragma once

#include "trace/encoder.hpp"

namespace umadvisor::trace {

/// A record as it stands in a chunk. `body` points into the chunk.
struct RawRecord {
    Type type{};
    const std::uint8_t* body = nullptr;
    std::size_t bytes = 0;
};

/// Takes the record at `in` apart, without knowing its type. Returns its end, or nullptr when it does not fit
/// into [in, end).
inline const std::uint8_t* next_record(const std::uint8_t* in, const std::uint8_t* end,
                                       RawRecord& record) noexcept {
    if (in == end)
        return nullptr;
    record.type = static_cast<Type>(*in++);
    std::uint64_t bytes = 0;
    in = get_varint(in, end, bytes);
    if (in == nullptr || bytes > static_cast<std::uint64_t>(end - in))
        return nullptr;
    record.body = in;
    record.bytes = static_cast<std::size_t>(bytes);
    return in + bytes;
}

namespace detail {

/// One function takes the fields of all records: so much code as each would have of its own does not stay in
/// the processor's cache. `in_place`: but for short fields, of a record that is met all the time.
template <bool in_place>
struct BodyReader {
    const std::uint8_t* at;
    const std::uint8_t* end;
    DeltaState& state;
    bool good = true;

    /// Fields left out at the end are zero.
    [[gnu::always_inline]] std::uint64_t get() noexcept {
        if (at == end)
            return 0;
        if constexpr (in_place) {
            if (*at < 0x80)
                return *at++;
            if (end - at >= 2 && at[1] < 0x80) {
                at += 2;
                return (at[-2] & 0x7fu) | std::uint64_t{at[-1]} << 7;
            }
        }
        return get_stored();
    }
    [[gnu::noinline]] std::uint64_t get_stored() noexcept {
        std::uint64_t value = 0;
        const std::uint8_t* const next = get_varint(at, end, value);
        if (next == nullptr)
            give_up();
        else
            at = next;
        return value;
    }
    void give_up() noexcept {
        good = false;
        at = end; // what follows makes no sense
    }
    template <class T>
    [[gnu::always_inline]] void number(std::string_view, T& value) noexcept {
        const std::uint64_t coded = get();
        if constexpr (is_enumeration<T>)
            value = coded < 256 ? static_cast<T>(coded) : T{}; // values newer than this reader stay numbers
        else
            value = static_cast<T>(coded);
    }
    [[gnu::always_inline]] void difference(std::uint64_t& value, std::uint64_t& last) noexcept {
        value = last += unzigzag(get());
    }
    void time(std::string_view, std::uint64_t& value) noexcept { difference(value, state.time); }
    void address(std::string_view, std::uint64_t& value) noexcept { difference(value, state.address); }
    template <class T>
    void handle(std::string_view, T& value) noexcept {
        value = static_cast<T>(state.handle += unzigzag(get()));
    }
    void text(std::string_view, std::string_view& value) noexcept {
        const std::uint64_t bytes = get();
        if (bytes > static_cast<std::uint64_t>(end - at))
            return give_up();
        value = {reinterpret_cast<const char*>(at), static_cast<std::size_t>(bytes)};
        at += bytes;
    }
    template <std::size_t N, class T>
    void numbers(std::string_view, Numbers<N, T>& value) noexcept {
        const std::uint64_t count = get();
        value.count = 0;
        if (count > N)
            return give_up();
        for (std::uint64_t i = 0; i < count; ++i)
            value.add(static_cast<T>(get()));
    }
};

} // namespace detail

/// Fills `record` from a raw record of its type. Text points into the chunk. False when the body is malformed;
/// `state` is then useless and the rest of the chunk with it.
template <class Record>
bool decode(const RawRecord& raw, Record& record, DeltaState& state) noexcept {
    detail::BodyReader<std::is_same_v<Record, Launch>> reader{raw.body, raw.body + raw.bytes, state};
    Record::fields(record, reader);
    return reader.good;
}

} // namespace umadvisor::trace

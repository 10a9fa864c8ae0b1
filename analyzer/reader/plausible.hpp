/// Values that no machine can have are refused when a record is read, so that no other code has to handle
/// them: the sum of any two accepted values does not overflow.
#pragma once

#include "analyzer/reader/saturated.hpp"
#include "trace/types.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace umadvisor::reader {

inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 57; ///< what page tables of five levels reach
inline constexpr std::uint64_t most_ticks = std::uint64_t{1} << 62; ///< decades, whatever the clock
inline constexpr std::uint64_t most_counted = std::uint64_t{1} << 48;

namespace detail {

/// The name of a field, as a number that the compiler works out: names are compared for each field of each
/// record.
class Key {
public:
    template <std::size_t N>
    consteval Key(const char (&name)[N]) {
        for (std::size_t i = 0; i + 1 < N; ++i) {
            hash_ = (hash_ ^ static_cast<unsigned char>(name[i])) * 0x100000001b3;
            if (i + 1 == thrashing.size())
                is_thrashing_ = std::string_view(name, thrashing.size()) == thrashing;
        }
    }
    constexpr bool operator==(const Key& other) const { return hash_ == other.hash_; }
    constexpr bool is_thrashing() const { return is_thrashing_; } ///< whether it begins so

private:
    static constexpr std::string_view thrashing = "thrashing_";
    std::uint64_t hash_ = 0xcbf29ce484222325;
    bool is_thrashing_ = false;
};

[[gnu::always_inline]] constexpr bool is_size(Key key) {
    return (key == "bytes" || key == "memory_bytes" || key == "shared_bytes" || key == "parameter_bytes" ||
            key == "offset" || key == "width" || key == "pitch" || key == "source_pitch" ||
            key == "destination_pitch");
}
[[gnu::always_inline]] constexpr bool is_time(Key key) {
    return (key == "start" || key == "time" || key == "loaded" || key == "copy" || key == "duration" ||
            key == "look_duration" || key == "wait_duration" || key == "nanoseconds" ||
            key == "floor_nanoseconds" || key == "monotonic_ns");
}
[[gnu::always_inline]] constexpr bool is_count(Key key) {
    return (key == "count" || key == "stands_for" || key == "untold" || key == "untold_dependencies" ||
            key == "untold_touched" || key == "nodes" || key == "pages" || key == "host_pages" ||
            key == "host_faults" || key == "device_faults" || key == "lost" || key == "batch") ||
           key.is_thrashing(); // microseconds, and how often
}
/// Kernels and rows, in each dimension; numbers of processors.
[[gnu::always_inline]] constexpr bool is_small(Key key) {
    return (key == "grid_x" || key == "grid_y" || key == "grid_z" || key == "block_x" || key == "block_y" ||
            key == "block_z" || key == "height" || key == "depth" || key == "ordinal" || key == "from" ||
            key == "to");
}

/// Looks at each field of a record. Inlined, so that of a key only what it stands for is left.
struct Plausibility {
    bool good = true, failed = false;
    std::uint64_t bytes = 0, highest_address = 0, first = 0, last = 0, width = 0, height = 1, depth = 1,
                  pitch = 0;

    template <class T>
    [[gnu::always_inline]] void number(Key key, const T& value) {
        if constexpr (!std::is_enum_v<T>)
            look(key, value);
    }
    [[gnu::always_inline]] void time(Key key, const std::uint64_t& value) { look(key, value); }
    [[gnu::always_inline]] void address(Key key, const std::uint64_t& value) { look(key, value); }
    void handle(std::string_view, const auto&) {}
    void text(std::string_view, const std::string_view&) {}
    void numbers(std::string_view, const auto&) {}

    [[gnu::always_inline]] void look(Key key, std::uint64_t value) {
        if (is_size(key))
            good = good && value <= most_bytes;
        else if (is_time(key))
            good = good && value <= most_ticks;
        else if (is_count(key))
            good = good && value <= most_counted;
        else if (is_small(key))
            good = good && value <= UINT32_MAX;
        if (key == "bytes")
            bytes = value;
        else if ((key == "address" || key == "source" || key == "destination"))
            highest_address = value > highest_address ? value : highest_address;
        else if (key == "first")
            first = value;
        else if (key == "last")
            last = value;
        else if (key == "width")
            width = value;
        else if (key == "height")
            height = value;
        else if (key == "depth")
            depth = value;
        else if ((key == "pitch" || key == "source_pitch" || key == "destination_pitch"))
            pitch = value > pitch ? value : pitch;
        else if (key == "status")
            failed = value != 0;
    }

    [[gnu::always_inline]] bool verdict() const {
        return good && highest_address <= UINT64_MAX - bytes && first <= (last == 0 ? UINT64_MAX : last) &&
               (width == 0 || saturated_product(saturated_product(pitch > width ? pitch : width, height),
                                                depth) <= most_bytes);
    }
};

/// For calls that failed: a program may ask for anything.
struct Clamp {
    template <class T>
    void number(Key key, T& value) {
        if constexpr (!std::is_enum_v<T>)
            if (is_size(key) || (key == "height" || key == "depth"))
                value = value < most_bytes ? value : most_bytes;
    }
    void time(std::string_view, std::uint64_t&) {}
    void address(std::string_view, std::uint64_t& value) {
        value = value < UINT64_MAX - most_bytes ? value : UINT64_MAX - most_bytes;
    }
    void handle(std::string_view, auto&) {}
    void text(std::string_view, std::string_view&) {}
    void numbers(std::string_view, auto&) {}
};

} // namespace detail

/// False: no machine can have had it. The sizes that a call asked for which failed are cut to what one can
/// have.
template <class Record>
bool make_plausible(Record& record) {
    detail::Plausibility look;
    Record::fields(static_cast<const Record&>(record), look);
    if (look.verdict()) [[likely]]
        return true;
    if (!look.failed)
        return false;
    detail::Clamp clamp;
    Record::fields(record, clamp);
    detail::Plausibility again;
    Record::fields(static_cast<const Record&>(record), again);
    return again.good;
}

} // namespace umadvisor::reader

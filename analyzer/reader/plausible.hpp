/// Values that no machine can have are refused when a record is read, so that nobody behind it has to think of
/// them: a sum of two of those that stay does not overflow.
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

template <class... Names>
[[gnu::always_inline]] constexpr bool is_one_of(std::string_view key, Names... names) {
    return ((key == names) || ...);
}
[[gnu::always_inline]] constexpr bool is_size(std::string_view key) {
    return is_one_of(key, "bytes", "memory_bytes", "shared_bytes", "parameter_bytes", "offset", "width",
                     "pitch", "source_pitch", "destination_pitch");
}
[[gnu::always_inline]] constexpr bool is_time(std::string_view key) {
    return is_one_of(key, "start", "time", "loaded", "copy", "duration", "look_duration", "wait_duration",
                     "nanoseconds", "floor_nanoseconds", "monotonic_ns");
}
[[gnu::always_inline]] constexpr bool is_count(std::string_view key) {
    return is_one_of(key, "count", "stands_for", "untold", "untold_dependencies", "untold_touched", "nodes",
                     "pages", "host_pages", "host_faults", "device_faults", "lost", "batch") ||
           key.starts_with("thrashing_"); // microseconds, and how often
}
/// Kernels and rows, in each dimension; numbers of processors.
[[gnu::always_inline]] constexpr bool is_small(std::string_view key) {
    return is_one_of(key, "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "height", "depth",
                     "ordinal", "from", "to");
}

/// Looks at each field of a record. Inlined, so that of a key only what it stands for is left.
struct Plausibility {
    bool good = true, failed = false;
    std::uint64_t bytes = 0, highest_address = 0, first = 0, last = 0, width = 0, height = 1, depth = 1,
                  pitch = 0;

    template <class T>
    [[gnu::always_inline]] void number(std::string_view key, const T& value) {
        if constexpr (!std::is_enum_v<T>)
            look(key, value);
    }
    [[gnu::always_inline]] void time(std::string_view key, const std::uint64_t& value) { look(key, value); }
    [[gnu::always_inline]] void address(std::string_view key, const std::uint64_t& value) { look(key, value); }
    void handle(std::string_view, const std::uint64_t&) {}
    void text(std::string_view, const std::string_view&) {}
    template <std::size_t N>
    void numbers(std::string_view, const trace::Numbers<N>&) {}

    [[gnu::always_inline]] void look(std::string_view key, std::uint64_t value) {
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
        else if (is_one_of(key, "address", "source", "destination"))
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
        else if (is_one_of(key, "pitch", "source_pitch", "destination_pitch"))
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
    void number(std::string_view key, T& value) {
        if constexpr (!std::is_enum_v<T>)
            if (is_size(key) || is_one_of(key, "height", "depth"))
                value = value < most_bytes ? value : most_bytes;
    }
    void time(std::string_view, std::uint64_t&) {}
    void address(std::string_view, std::uint64_t& value) {
        value = value < UINT64_MAX - most_bytes ? value : UINT64_MAX - most_bytes;
    }
    void handle(std::string_view, std::uint64_t&) {}
    void text(std::string_view, std::string_view&) {}
    template <std::size_t N>
    void numbers(std::string_view, trace::Numbers<N>&) {}
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

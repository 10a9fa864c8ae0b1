/// Record types, field kinds and bounds that all records share.
///
/// A field list calls the visitor once per field, in file order:
///   number  unsigned, LEB128            time     ticks, zig-zag difference from the chunk's last time
///   address zig-zag difference from the chunk's last address     handle  the same with a state of its own
///   text    length and bytes            numbers  count and that many LEB128 numbers
/// Fields at the end whose encoding would be zero are left out; a reader gives missing fields the encoding
/// zero. New versions may append fields, never change or remove one. What comes after version 1.0 carries no
/// differences: a reader that skips it would lose the state. Types below 64 stand in event chunks, the others
/// in dictionary chunks.
#pragma once

#include "trace/ids.hpp"
#include "trace/values.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::trace {

enum class Type : std::uint8_t {
    launch_shape = 1,
    launch = 2,
    alloc = 3,
    free = 4,
    copy = 5,
    set = 6,
    sync = 7,
    stream = 8,
    event = 9,
    prefetch = 10,
    advise = 11,
    residency = 12,
    device_time = 13,
    gpu_module = 14,
    clock = 15,
    graph_launch = 16,
    graph = 17,
    virtual_memory = 18,
    pool = 19,
    context = 20,
    peer = 21,
    host_function = 22,
    discard = 23,
    attach = 24,
    range = 25,
    pause = 26,
    ipc = 27,
    external = 28,
    managed_event = 29,
    managed_counters = 30,
    managed_detail = 31,
    content = 32,
    comparison = 33,
    query = 34,

    entry = 64,
    string = 65,
    process = 66,
    thread = 67,
    device = 68,
    driver = 69,
    option = 70,
    module = 71,
    frame = 72,
    function = 73,
    host_range = 74,
    unknown_lookup = 75,
    runtime = 76,
    notice = 77,
    graph_node = 78,
    interpreter = 79,
    python_code = 80,
    python_lines = 81,
    python_frame = 82,
    managed_source = 83,
    host_return = 84,
    peer_link = 85,
    machine_rates = 86,
    recording = 87,
};

/// A bounded list of numbers inside a record. What lies beyond `count` is never written nor copied: one of
/// these stands on the stack of every launch.
template <std::size_t Capacity, class Value = std::uint64_t>
struct Numbers {
    std::array<Value, Capacity> values;
    std::uint32_t count = 0;

    static constexpr std::size_t capacity = Capacity;

    Numbers() noexcept {} // not defaulted: value-initialisation would fill `values`
    Numbers(const Numbers& other) noexcept { *this = other; }
    Numbers& operator=(const Numbers& other) noexcept {
        count = other.count;
        for (std::uint32_t i = 0; i < count; ++i)
            values[i] = other.values[i];
        return *this;
    }
    void add(Value value) noexcept {
        if (count < Capacity)
            values[count++] = value;
    }
    const Value* begin() const noexcept { return values.data(); }
    const Value* end() const noexcept { return values.data() + count; }
    bool operator==(const Numbers& other) const noexcept {
        return std::equal(begin(), end(), other.begin(), other.end());
    }
};

inline constexpr std::size_t max_touched = 64; ///< allocations named by one launch; more are counted, not named
inline constexpr std::size_t max_reached_ranges = 8; ///< pieces of pageable memory named by one launch
inline constexpr std::size_t max_text = 16 * 1024;

} // namespace umadvisor::trace

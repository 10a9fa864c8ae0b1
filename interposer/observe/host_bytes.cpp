#include "interposer/observe/host_bytes.hpp"

#include "interposer/record/checked_read.hpp"
#include "interposer/record/confined.hpp"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL // compiled into this file, so the shim needs no library
#include <xxhash.h>

namespace umadvisor::observe {

namespace {

constexpr std::uint64_t parts = 4, part_bytes = 256;
constexpr std::uint64_t place_bytes = 64;
constexpr std::uint64_t value_bytes = 4;

/// Whether the bytes repeat `value`.
bool repeats(const std::uint8_t* at, std::uint64_t bytes, const std::uint8_t* value) {
    if (std::memcmp(at, value, std::min(bytes, value_bytes)) != 0)
        return false;
    return bytes <= value_bytes || std::memcmp(at, at + value_bytes, bytes - value_bytes) == 0;
}

/// Zero means that nothing was hashed.
std::uint64_t nonzero(std::uint64_t hash) {
    return hash | static_cast<std::uint64_t>(hash == 0);
}

/// Fills in the shortest value whose repetition gives these four bytes.
void set_value(trace::CopyContent& content, const std::uint8_t* value) {
    std::uint32_t word = 0;
    std::memcpy(&word, value, sizeof word);
    const bool halves = word >> 16 == (word & 0xffff);
    content.value_bytes = !halves ? 4 : (word >> 8 & 0xff) == (word & 0xff) ? 1 : 2;
    content.value = content.value_bytes == 4 ? word : content.value_bytes == 2 ? word & 0xffff : word & 0xff;
}

} // namespace

void HostBytes::hash_part(trace::CopyContent& content, std::uint64_t address, std::uint64_t bytes) noexcept {
    // Offsets are multiples of a value's length, so that a repeated value is found.
    iovec from[parts];
    for (std::uint64_t i = 0; i < parts; ++i) {
        const std::uint64_t offset = (bytes - part_bytes) * i / (parts - 1) & ~(value_bytes - 1);
        from[i] = {reinterpret_cast<void*>(address + offset), part_bytes};
    }
    constexpr std::uint64_t total = parts * part_bytes;
    if (!record::read_checked(held_, from, parts))
        return;
    content.part_hash = nonzero(XXH3_64bits(held_, total));
    if (repeats(held_, total, held_))
        set_value(content, held_);
}

void HostBytes::check_value(trace::CopyContent& content, std::uint64_t address, std::uint64_t bytes) noexcept {
    std::uint8_t value[value_bytes];
    std::memcpy(value, held_, sizeof value); // what hash_part() has read
    const std::uint64_t part = bytes / value_places;
    iovec from[value_places];
    for (std::uint64_t i = 0; i < value_places; ++i) {
        const std::uint64_t at = (i + 1) * 0x9e3779b9u & 0xffffffffu;
        const std::uint64_t within = ((part - place_bytes) * at >> 32) & ~(place_bytes - 1);
        from[i] = {reinterpret_cast<void*>(address + (i * part & ~(value_bytes - 1)) + within), place_bytes};
    }
    if (!record::read_checked(held_, from, value_places))
        return;
    if (repeats(held_, value_places * place_bytes, value))
        content.places = value_places;
    else
        content.value_bytes = content.value = 0;
}

bool HostBytes::hash_places(std::uint64_t address, std::uint64_t bytes, std::uint32_t turn, Places& hashes,
                            Places* next) noexcept {
    const std::uint64_t part = bytes / places, turns = next != nullptr ? 2 : 1;
    iovec from[2 * places];
    for (std::uint64_t i = 0; i < turns * places; ++i) {
        // Multiples of the golden ratio fill a part evenly, however many turns there are.
        const std::uint64_t at = (turn + i / places) * 0x9e3779b9u & 0xffffffffu;
        const std::uint64_t within = ((part - place_bytes) * at >> 32) & ~(place_bytes - 1);
        from[i] = {reinterpret_cast<void*>(address + i % places * part + within), place_bytes};
    }
    if (!record::read_checked(held_, from, turns * places))
        return false;
    for (std::uint64_t i = 0; i < turns * places; ++i)
        (i < places ? hashes : *next)[i % places] =
            static_cast<std::uint32_t>(XXH3_64bits(held_ + i * place_bytes, place_bytes));
    return true;
}

void HostBytes::hash_whole(trace::CopyContent& content, std::uint64_t address, std::uint64_t bytes) noexcept {
    std::uint64_t hash = bytes;
    std::uint8_t value[value_bytes] = {};
    bool one_value = bytes > value_bytes;
    // The question takes as long as passing some ten KiB through a pipe. Another thread may install a filter
    // for all of them (seccomp(2), SECCOMP_FILTER_FLAG_TSYNC).
    constexpr std::uint64_t worth_asking = piece / 2, ask_again = 16 * piece;
    bool in_one_call = false;
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t length = std::min(piece, bytes - done);
        if (bytes > worth_asking && done % ask_again == 0)
            in_one_call = record::may_read_in_one_call();
        if (!(in_one_call ? record::read_in_one_call(held_, address + done, length)
                          : record::read_checked(held_, address + done, length)))
            return;
        if (done == 0)
            std::memcpy(value, held_, std::min(length, value_bytes));
        one_value = one_value && repeats(held_, length, value);
        hash = XXH3_64bits_withSeed(held_, length, hash);
        done += length;
    }
    content.whole_hash = nonzero(hash);
    content.value_bytes = content.value = 0; // the value of a part does not count any more
    if (one_value)
        set_value(content, value);
}

} // namespace umadvisor::observe

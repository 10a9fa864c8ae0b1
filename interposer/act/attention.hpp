/// Why every call of the program is looked at before it is made: bits of record::attention().
#pragma once

#include "interposer/record/taking.hpp"

#include <atomic>
#include <cstdint>

namespace umadvisor::act {

enum class Attention : std::uint8_t {
    deferred = 1,      ///< calls of the program wait to be made (deferred.hpp)
    registrations = 2, ///< registrations are kept that the program has ended (kept_registrations.hpp)
};

/// Whether there is any reason. One load.
inline bool calls_are_looked_at() noexcept {
    return record::attention().load(std::memory_order_relaxed) != 0;
}

inline bool has_attention(Attention why) noexcept {
    return (record::attention().load(std::memory_order_relaxed) & static_cast<std::uint8_t>(why)) != 0;
}

inline void set_attention(Attention why, bool on) noexcept {
    const auto bit = static_cast<std::uint8_t>(why);
    if (on)
        record::attention().fetch_or(bit);
    else
        record::attention().fetch_and(static_cast<std::uint8_t>(~bit));
}

} // namespace umadvisor::act

/// What every call of the program does while registrations are kept that the program has ended: for the program
/// their memory is pageable, and no call may find it registered.
#pragma once

#include "interposer/attach/entries.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace umadvisor::act {

namespace detail {
extern constinit std::atomic<std::uint32_t> registrations_kept;
} // namespace detail

/// Whether any is kept. One load.
inline bool registrations_are_kept() noexcept {
    return detail::registrations_kept.load(std::memory_order_relaxed) != 0;
}

/// Ends the registrations that the call may find: those that its addresses lie in, or all where it is not known
/// what the call does. `words` are the call's arguments.
void end_registrations_before(std::size_t entry, const std::uint64_t* words, std::size_t count) noexcept;

template <class Argument>
std::uint64_t word_of(const Argument& argument) noexcept {
    if constexpr (std::is_pointer_v<Argument>)
        return reinterpret_cast<std::uint64_t>(argument);
    else if constexpr (std::is_integral_v<Argument>)
        return static_cast<std::uint64_t>(argument);
    else
        return 0;
}

/// Called before a call that is wrapped.
template <class... Arguments>
void see_registrations(attach::Entry entry, const Arguments&... arguments) noexcept {
    if (!registrations_are_kept())
        return;
    const std::uint64_t words[] = {word_of(arguments)..., 0};
    end_registrations_before(attach::index(entry), words, sizeof...(Arguments));
}

} // namespace umadvisor::act

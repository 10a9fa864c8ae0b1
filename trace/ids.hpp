/// The numbers by which records name allocations and streams. They have types of their own: a mix-up does not
/// compile.
#pragma once

#include <cstdint>
#include <type_traits>

namespace umadvisor::trace {

enum class AllocationId : std::uint64_t {}; ///< unique in the file; 0: not known
enum class StreamId : std::uint64_t {};     ///< its handle; 0 is the legacy default stream

constexpr bool known(AllocationId id) noexcept {
    return id != AllocationId{};
}

template <class T>
inline constexpr bool is_id = std::is_same_v<T, AllocationId> || std::is_same_v<T, StreamId>;
/// A field whose numbers have names.
template <class T>
inline constexpr bool is_enumeration = std::is_enum_v<T> && !is_id<T>;

template <class Id>
requires is_id<Id>
constexpr std::uint64_t number(Id id) noexcept {
    return static_cast<std::uint64_t>(id);
}

} // namespace umadvisor::trace

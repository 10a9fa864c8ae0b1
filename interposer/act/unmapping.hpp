/// Notices that the program unmaps, moves or empties memory, or lends its pages to a forked child
/// (userfaultfd(2)). The thread that unmaps waits until a thread of ours has read of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::act {

constexpr std::size_t most_watched = 128;

/// Watches the pages of [address, address + bytes) from now on, under a number below `most_watched` that is not
/// in use. False: they are not private anonymous memory, or the kernel refuses. `why`: its errno; 0 if the
/// memory is of another kind. The first call starts a thread: no lock of ours is held.
bool watch_mapping(std::size_t number, std::uint64_t address, std::uint64_t bytes, int& why) noexcept;

void unwatch_mapping(std::size_t number) noexcept;

/// Whether the pages may be others than when they were first watched: one is after each call of the program
/// that has changed them and has returned. Thread-safe; waits for the thread that is reading, for microseconds.
bool mapping_has_changed(std::size_t number) noexcept;

} // namespace umadvisor::act

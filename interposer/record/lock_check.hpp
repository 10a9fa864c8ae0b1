/// Checks the order of our locks, and that none is held while the driver or the loader is called: a thread that
/// holds a lock of theirs may call us and wait for ours (a callback of dl_iterate_phdr(3), a library's
/// constructor, a host function in a stream). A checked build (UMADVISOR_CHECKED, which tools/test turns on)
/// aborts the program on a violation.
///
/// Locks with bounded waits are not counted: TryLock, and the lock of start-up (runtime/state.cpp), which is
/// held while driver and loader are called and comes before all of these.
#pragma once

#include <cstdint>

namespace umadvisor::record {

/// A thread that holds a lock may lock those of the same level and of later ones.
enum class Lock : unsigned char {
    tools_queue, ///< its reading end (observe/queue_watch.cpp)
    actions,     ///< act/
    lists,       ///< runtime/, attach/
    graphs,      ///< observe/exec_graphs.hpp
    tables,      ///< of observe/: functions, captures, contexts, handles
    allocations, ///< the index
    host_ranges, ///< then their cache
    modules,     ///< the map of what is loaded
    frames,
    texts,      ///< strings, Python code
    alive,      ///< held while its record is written, too
    dictionary, ///< and writers without a thread; those before may be held while a definition or a Notice is
                ///< written
    sink,       ///< and the pipes of read_checked(), which waits for nothing else
};

#ifdef UMADVISOR_CHECK_LOCKS

namespace detail {
/// How many locks of each level the thread holds, four bits each, so that a launch checks them with one load.
inline constexpr unsigned bits_of_level = 4;
inline thread_local constinit std::uint64_t locks_held = 0;
static_assert((static_cast<unsigned>(Lock::sink) + 1) * bits_of_level < 64);
[[noreturn, gnu::cold, gnu::noinline]] void end_under_lock(const char* callee) noexcept;

inline void assert_none_held(std::uint64_t held, const char* callee) noexcept {
    if (held != 0) [[unlikely]]
        end_under_lock(callee);
}
} // namespace detail

/// The level of one lock.
class LockLevel {
public:
    explicit constexpr LockLevel(Lock lock) noexcept
        : shift_(static_cast<unsigned>(lock) * detail::bits_of_level) {}

    void assert_order() const noexcept {
        detail::assert_none_held(detail::locks_held >> (shift_ + detail::bits_of_level),
                                 "a lock of an earlier level");
    }
    void take() const noexcept { detail::locks_held += std::uint64_t{1} << shift_; }
    void give_back() const noexcept { detail::locks_held -= std::uint64_t{1} << shift_; }

private:
    unsigned shift_;
};

/// `callee`: what is about to be called.
inline void assert_no_lock(const char* callee) noexcept {
    detail::assert_none_held(detail::locks_held, callee);
}

#else

/// Empty, so that objects with a lock can be all zeros.
class LockLevel {
public:
    explicit constexpr LockLevel(Lock) noexcept {}
    void assert_order() const noexcept {}
    void take() const noexcept {}
    void give_back() const noexcept {}
};

inline void assert_no_lock(const char*) noexcept {}

#endif

} // namespace umadvisor::record

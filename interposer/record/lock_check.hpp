/// The order of our locks, and that none is held while the driver or the loader is called: a thread that holds
/// one of theirs may call us and wait for ours (a callback of dl_iterate_phdr(3), a library's constructor, a
/// host function in a stream). A checked build (UMADVISOR_CHECKED, which tools/test turns on) ends the program
/// where it is not so.
///
/// Locks that nobody waits for without an end are not counted: TryLock, and the one that start-up holds
/// (runtime/state.cpp), which is held while driver and loader are called and comes before all of these.
#pragma once

#include <cstdint>

namespace umadvisor::record {

/// Who holds a lock may take those of its level and of later ones.
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
    texts,      ///< strings, Python code; writers without a thread
    dictionary, ///< those before may be held while a definition or a Notice is written
    sink,
};

#ifdef UMADVISOR_CHECK_LOCKS

namespace detail {
/// How many of each level the thread holds, five bits each: a launch asks with one load.
inline constexpr unsigned bits_of_level = 5;
inline thread_local constinit std::uint64_t locks_held = 0;
static_assert((static_cast<unsigned>(Lock::sink) + 1) * bits_of_level < 64);
[[noreturn, gnu::cold, gnu::noinline]] void end_under_lock(const char* callee) noexcept;

inline void assert_none_held(std::uint64_t held, const char* callee) noexcept {
    if (held != 0) [[unlikely]]
        end_under_lock(callee);
}
} // namespace detail

/// Of one lock.
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

/// Nothing, so that what has a lock can be all zeros.
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

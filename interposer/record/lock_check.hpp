/// No lock of ours is held while the driver or the loader is called. A thread that holds one of theirs may call
/// us and wait for ours: a callback of dl_iterate_phdr(3), a library's constructor, a host function in a
/// stream. A checked build (UMADVISOR_CHECKED, which tools/test turns on) ends the program where it is not so.
///
/// Locks that nobody waits for without an end are not counted: TryLock, the flags of act/, and the one that
/// start-up holds (runtime/state.cpp).
#pragma once

namespace umadvisor::record {

#ifdef UMADVISOR_CHECK_LOCKS

namespace detail {
inline thread_local constinit unsigned locks_held = 0;
[[noreturn, gnu::cold, gnu::noinline]] void end_under_lock(const char* callee) noexcept;
} // namespace detail

inline void count_lock() noexcept {
    ++detail::locks_held;
}
inline void count_unlock() noexcept {
    --detail::locks_held;
}
/// `callee`: what is about to be called.
inline void assert_no_lock(const char* callee) noexcept {
    if (detail::locks_held != 0) [[unlikely]]
        detail::end_under_lock(callee);
}

#else

inline void count_lock() noexcept {}
inline void count_unlock() noexcept {}
inline void assert_no_lock(const char*) noexcept {}

#endif

} // namespace umadvisor::record

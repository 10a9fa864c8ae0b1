/// Calls of the program that were answered and are yet to be made. They are made, as one kind of action makes
/// them, before any other call that we wrap, by the thread that makes that call; and at the latest when a
/// thread of ours finds that no further one has come for some 20 us. Thread-safe.
///
/// Only calls may be deferred of which neither the program nor another process can see when they are made.
#pragma once

#include "interposer/act/attention.hpp"

namespace umadvisor::act {

/// What one action defers.
struct Deferrable {
    /// Makes all that is deferred, if anything is. Called without a lock, by one thread at a time, while
    /// nothing is added: by a thread of ours without a current context, or by one of the program's. `over`: the
    /// program makes another call.
    void (*make)(bool over) noexcept;
    /// Calls count as deferred until the program makes another one, also once all are made: what is added next
    /// knows that there was none.
    bool until_over = false;
};

/// Whether something is deferred, is being made, or waits for another call. One load.
inline bool calls_are_deferred() noexcept {
    return has_attention(Attention::deferred);
}

/// Makes what is deferred. If another thread does so already, waits for it: for a second at most, since the
/// driver may wait for a thread that waits here. `over`: see Deferrable.
[[gnu::cold, gnu::noinline]] void make_deferred_calls(bool over = true) noexcept;

/// The same before a call that an action notices by itself: nothing is made, and nothing is over, if another
/// call is only waited for.
[[gnu::cold, gnu::noinline]] void make_deferred_calls_if_any() noexcept;

namespace detail {
bool defer(const Deferrable& kind, bool (*add)(void* what), void* what, bool later) noexcept;
}

/// Calls add() under a lock, under which make() is never begun, and defers what it has added if it returns
/// true. False, and add() is not called, if other calls have to be made first, or there is no thread of ours.
/// add() makes no call of the driver.
template <class Add>
bool defer(const Deferrable& kind, Add&& add) noexcept {
    return detail::defer(
        kind, [](void* what) { return (*static_cast<Add*>(what))(); }, &add, false);
}

/// Calls add() in the same way, which defers nothing yet: if it returns true, make() is called when the program
/// makes another call, to say so.
template <class Add>
bool wait_for_call(const Deferrable& kind, Add&& add) noexcept {
    return detail::defer(
        kind, [](void* what) { return (*static_cast<Add*>(what))(); }, &add, true);
}

} // namespace umadvisor::act

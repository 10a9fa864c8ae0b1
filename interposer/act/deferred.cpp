#include "interposer/act/deferred.hpp"

#include "interposer/act/kept_registrations.hpp"
#include "interposer/attach/entries.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/runtime/own_thread.hpp"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

namespace umadvisor::act {

namespace {

constexpr std::uint64_t look_every = 20'000;          ///< ns
constexpr std::uint64_t longest_wait = 1'000'000'000; ///< ns, for another thread that makes calls
constexpr timespec short_pause{0, 1'000};
enum class Thread : std::uint8_t { none, runs, refused, ended };

record::Mutex mutex{record::Lock::actions}; ///< guards what follows, and what add() changes
constinit const Deferrable* kind = nullptr; ///< null: nothing is deferred, and no call is waited for
constinit bool only_waits = false;          ///< for another call: nothing has been deferred
constinit bool making = false;
constinit bool pending = false;        ///< something is deferred, and not only until another call
constinit bool over_meanwhile = false; ///< another call of the program waits for the thread that makes calls
constinit std::uint64_t added = 0;     ///< calls, ever
constinit Thread thread = Thread::none;

/// Wakes the thread. Nothing else is locked while this is held.
constinit pthread_mutex_t bell_mutex = PTHREAD_MUTEX_INITIALIZER;
constinit pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
constinit bool rung = false, ending = false;

void ring(bool& what) {
    pthread_mutex_lock(&bell_mutex);
    what = true;
    pthread_cond_signal(&bell);
    pthread_mutex_unlock(&bell_mutex);
}

/// Returns whether the thread is to go on.
bool sleep_until_rung() {
    for (;;) {
        pthread_mutex_lock(&bell_mutex);
        const timespec end = runtime::end_of_sleep(runtime::longest_sleep);
        while (!rung && !ending && pthread_cond_clockwait(&bell, &bell_mutex, CLOCK_MONOTONIC, &end) == 0) {
        }
        const bool goes_on = !ending, work = rung;
        rung = false;
        pthread_mutex_unlock(&bell_mutex);
        if (!goes_on || work)
            return goes_on;
        runtime::end_if_program_is_over();
    }
}

/// Looks until nothing is deferred; makes it if no call was added since the last look.
void watch() {
    constexpr timespec pause{0, look_every};
    for (std::uint64_t before = 0;;) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
        std::uint64_t now = 0;
        {
            const record::Guard guard(mutex);
            if (!pending)
                return;
            now = added;
        }
        if (now == before)
            make_deferred_calls(false);
        before = now;
    }
}

void serve(void*) noexcept {
    record::seat.inside_wrapper = true; // the driver's own calls of its exports are not the program's
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    while (sleep_until_rung())
        watch();
    const record::Guard guard(mutex);
    thread = Thread::ended;
}

void end(void*) noexcept {
    ring(ending);
}

/// Without a lock, since a new thread may run the program's own code.
bool thread_runs() {
    {
        const record::Guard guard(mutex);
        if (thread != Thread::none)
            return thread == Thread::runs;
        thread = Thread::refused; // until it runs
    }
    const bool runs = !record::is_confined() && runtime::start_own_thread({&serve, &end, "umadvisor-defer"});
    const record::Guard guard(mutex);
    if (runs && thread == Thread::refused)
        thread = Thread::runs;
    return thread == Thread::runs;
}

void wait_for_maker() {
    for (const std::uint64_t until = record::monotonic_nanoseconds() + longest_wait;;) {
        {
            const record::Guard guard(mutex);
            if (!making)
                return;
        }
        if (record::monotonic_nanoseconds() > until)
            return;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &short_pause, nullptr);
    }
}

/// Returns whether a call that is only counted may show, or come before, what is deferred. Questions do
/// neither.
constexpr bool orders_work(std::string_view name) {
    for (const std::string_view question : {"Get", "IsCapturing", "CanAccessPeer"})
        if (name.find(question) != std::string_view::npos)
            return false;
    return true;
}

} // namespace

/// Called by the pass-through of an entry point while calls are looked at (attach/exports_x86_64.S).
extern "C" __attribute__((visibility("hidden"))) void
umadvisor_before_counted_call(std::size_t entry) noexcept {
    // Calls of the driver's own exports are not the program's.
    if (record::seat.inside_wrapper)
        return;
    record::seat.inside_wrapper = true;
    if (calls_are_deferred() && orders_work(attach::entry_names[entry]))
        make_deferred_calls();
    if (registrations_are_kept() && finds_registrations(attach::entry_names[entry]))
        end_all_registrations();
    record::seat.inside_wrapper = false;
}

void make_deferred_calls(bool over) noexcept {
    const record::Quiet quiet;
    const Deferrable* mine = nullptr;
    {
        const record::Guard guard(mutex);
        if (kind == nullptr)
            return;
        if (!making) {
            making = true;
            over_meanwhile = over;
            mine = kind;
        } else {
            over_meanwhile |= over;
        }
    }
    if (mine == nullptr)
        return wait_for_maker();
    for (bool is_over = over;; is_over = true) {
        mine->make(is_over);
        const record::Guard guard(mutex);
        if (over_meanwhile && !is_over)
            continue;
        making = false;
        pending = false;
        if (is_over || !mine->until_over) {
            kind = nullptr;
            set_attention(Attention::deferred, false);
        }
        return;
    }
}

void make_deferred_calls_if_any() noexcept {
    {
        const record::Guard guard(mutex);
        if (kind == nullptr || only_waits)
            return;
    }
    make_deferred_calls();
}

bool detail::defer(const Deferrable& asked, bool (*add)(void* what), void* what, bool later) noexcept {
    if (!later && !thread_runs())
        return false;
    bool first = false;
    {
        const record::Guard guard(mutex);
        if (making || (kind != nullptr && kind != &asked) || !add(what))
            return false;
        only_waits = later && (kind == nullptr || only_waits);
        kind = &asked;
        if (!later) {
            ++added;
            first = !pending;
            pending = true;
        }
        set_attention(Attention::deferred, true);
    }
    if (first)
        ring(rung);
    return true;
}

} // namespace umadvisor::act

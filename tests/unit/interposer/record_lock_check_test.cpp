/// In a checked build: what waits for a lock of another is not called under one of ours.
#include "interposer/attach/real.hpp"
#include "interposer/record/loaded_objects.hpp"
#include "interposer/record/mutex.hpp"
#include "record_process.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>

BOOST_AUTO_TEST_SUITE(record_lock_check)

using namespace umadvisor;
using namespace umadvisor::record;

namespace {

/// Whether it ends a child of ours.
template <class Act>
bool aborts(Act act) {
    const int status = run_in_child([&] {
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::signal(SIGABRT, SIG_DFL); // Boost.Test's would report it
        act();
        return 0;
    });
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

void call_driver() {
    attach::real<attach::Entry::cuInit>();
}
void call_loader() {
    holding_the_loader([] {});
}

} // namespace

#ifdef UMADVISOR_CHECK_LOCKS

BOOST_AUTO_TEST_CASE(locks_are_taken_in_their_order) {
    const auto take = [](Lock first, Lock second) {
        Mutex outer{first}, inner{second};
        const Guard outside(outer), inside(inner);
    };
    BOOST_TEST(aborts([&] { take(Lock::sink, Lock::dictionary); }));
    BOOST_TEST(aborts([&] { take(Lock::allocations, Lock::graphs); }));
    BOOST_TEST(!aborts([&] { take(Lock::graphs, Lock::allocations); }));
    BOOST_TEST(!aborts([&] { // what is given back is held no longer
        {
            Mutex mutex{Lock::sink};
            const Guard guard(mutex);
        }
        take(Lock::tools_queue, Lock::tools_queue);
    }));
}

BOOST_AUTO_TEST_CASE(the_driver_and_the_loader_are_not_called_under_a_lock) {
    for (void (*const call)() : {&call_driver, &call_loader}) {
        BOOST_TEST(aborts([&] {
            Mutex mutex{Lock::frames};
            const Guard guard(mutex);
            call();
        }));
        BOOST_TEST(aborts([&] {
            Mutex outer{Lock::actions}, inner{Lock::sink};
            outer.try_lock();
            { const Guard guard(inner); }
            call();
        }));
    }
}

#endif

BOOST_AUTO_TEST_CASE(without_a_lock_they_are_called) {
    for (void (*const call)() : {&call_driver, &call_loader})
        BOOST_TEST(!aborts([&] {
            Mutex mutex{Lock::frames};
            { const Guard guard(mutex); }
            if (mutex.try_lock())
                mutex.unlock();
            call();
            holding_the_loader(
                [&] { const Guard guard(mutex); }); // ours under the loader's: that order is ours
        }));
}

BOOST_AUTO_TEST_SUITE_END()

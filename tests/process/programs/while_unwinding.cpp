// A thread whose calls come from places that no thread has called from, so that each is unwound, and another
// that holds the loader's lock or forks just then. The driver takes no part in either, so a program may do
// this.
//
// libunwind asks the loader by dl_iterate_phdr, and so do we: the program has one of its own, which sees to it
// that the threads meet there. Bare, nobody comes there.
#include "driver_program.hpp"
#include "scenarios.hpp"

#include <atomic>
#include <link.h>
#include <semaphore>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace {

using Callback = int (*)(dl_phdr_info*, std::size_t, void*);
using Hook = void (*)();

/// What this thread does when it is about to enter the loader, and once it is inside, with its lock.
thread_local Hook before_entering = nullptr;
thread_local Hook once_inside = nullptr;

struct Entry {
    Callback callback;
    void* data;
    Hook first;
};

} // namespace

extern "C" int dl_iterate_phdr(Callback callback, void* data) {
    static const auto enter = reinterpret_cast<decltype(&dl_iterate_phdr)>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
    thread_local int depth = 0;
    Entry made{callback, data, depth == 0 ? once_inside : nullptr};
    if (depth == 0 && before_entering != nullptr)
        before_entering();
    ++depth;
    const int answer = enter(
        [](dl_phdr_info* object, std::size_t size, void* to) {
            auto& entry = *static_cast<Entry*>(to);
            if (entry.first != nullptr)
                std::exchange(entry.first, nullptr)();
            return entry.callback(object, size, entry.data);
        },
        &made);
    --depth;
    return answer;
}

namespace {

/// Asked for before anything begins: asking is a look-up too.
struct Driver {
    CUcontext context = make_context();
    decltype(&cuCtxSetCurrent) set_current = ASK("cuCtxSetCurrent", cuCtxSetCurrent);
    decltype(&cuMemAlloc_v2) alloc = ASK("cuMemAlloc", cuMemAlloc_v2);
    decltype(&cuMemFree_v2) free = ASK("cuMemFree", cuMemFree_v2);
};
const Driver& driver() {
    static const Driver found;
    return found;
}

/// Frames of functions of its own for each `way`.
template <int way, int left>
[[gnu::noinline]] void call_below() {
    if constexpr (left == 0) {
        CUdeviceptr memory = 0;
        must(driver().alloc(&memory, 4096), "alloc");
        must(driver().free(memory), "free");
    } else {
        call_below<way, left - 1>();
    }
    asm volatile("" : : "i"(64 * way + left)); // no tail call, and no two functions of the same code
}
constexpr void (*ways[])() = {call_below<0, 40>, call_below<1, 40>, call_below<2, 40>, call_below<3, 40>};

/// Calls by all ways; `done` says that they have been made.
template <class Prepare>
std::thread calls(std::atomic<bool>& done, std::counting_semaphore<>& at_the_end, Prepare prepare) {
    return std::thread([&done, &at_the_end, prepare] {
        prepare();
        must(driver().set_current(driver().context), "set");
        for (const auto way : ways)
            way();
        before_entering = once_inside = nullptr;
        done = true;
        at_the_end.release();
    });
}

std::counting_semaphore<> walks{0}; // that wait, with the loader's lock, for somebody to come
std::counting_semaphore<> comes{0};
std::counting_semaphore<> inside{0}; // whoever came has the lock: before that, no other walk may take it

/// Whoever comes to the loader finds its lock held by a walk, which makes a call before it lets go.
void call_while_another_comes() {
    static std::atomic<bool> done{false};
    std::thread other = calls(done, comes, [] {
        before_entering = [] {
            walks.acquire();
            comes.release();
        };
        once_inside = [] { inside.release(); };
    });
    bool came = true;
    for (int i = 0; came; ++i) {
        std::thread([&came, way = ways[i % 4]] { // one that has just begun remembers no stack
            must(driver().set_current(driver().context), "set");
            auto call = [&came, way] {
                walks.release();
                comes.acquire();
                came = !done;
                if (came)
                    way();
            };
            dl_iterate_phdr(
                [](dl_phdr_info*, std::size_t, void* to) {
                    (*static_cast<decltype(call)*>(to))();
                    return 1;
                },
                &call);
        })
            .join();
        if (came)
            inside.acquire();
    }
    other.join();
}

std::counting_semaphore<> held{0};

/// A child finds every lock as it was: one of the loader's that another thread held is never released there.
void fork_while_another_is_inside() {
    static std::atomic<bool> done{false};
    std::thread other = calls(done, held, [] {
        once_inside = [] {
            held.release();
            usleep(20'000);
        };
    });
    int hung = 0;
    for (held.acquire(); !done && hung == 0; held.acquire()) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(5);
            dlopen("libm.so.6", RTLD_NOW);
            _exit(dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr));
        }
        int status = 0;
        waitpid(child, &status, 0);
        hung += status != 0;
    }
    other.join();
    std::printf("%d children hung\n", hung);
}

} // namespace

int main(int argc, char** argv) {
    alarm(10); // a dead lock is death
    driver();
    const int ended = run_scenario(
        argc > 1 ? argv[1] : "", {{"call", call_while_another_comes}, {"fork", fork_while_another_is_inside}});
    std::puts("went on");
    return ended;
}

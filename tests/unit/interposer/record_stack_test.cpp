#include "record_both.hpp"
#include "stack_frames.hpp"

#include "interposer/record/thread_writer.hpp"
#include "interposer/record/unwinder.hpp"

#include <algorithm>
#include <alloca.h>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

BOOST_AUTO_TEST_SUITE(record_stacks)

using namespace umadvisor;
using namespace umadvisor::record;

namespace {

// Functions through which stacks run in all ways. Each keeps its frame: the result is used after the call.

std::mt19937_64 choice(1);
volatile std::uint64_t sink;

[[gnu::noinline]] void wander(int depth);

[[gnu::noinline]] void plain(int depth) {
    wander(depth);
    sink = sink + 1;
}
[[gnu::noinline]] void wide(int depth) {
    volatile char room[200];
    room[depth] = 1;
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[depth]);
}
/// Of variable size: the frames below it may lie anywhere.
[[gnu::noinline]] void variable(int depth) {
    const std::size_t bytes = choice() % 4 * 16 + 16;
    volatile char* room = static_cast<volatile char*>(alloca(bytes));
    room[0] = 1;
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[0]);
}
/// Aligns its frame.
[[gnu::noinline]] void realigned(int depth) {
    alignas(64) volatile char room[64];
    room[depth] = 1;
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[depth]);
}
[[gnu::noinline, gnu::optimize("omit-frame-pointer"), maybe_unused]] void without_frame_pointer(int depth) {
    wander(depth);
    sink = sink + 1;
}
[[gnu::noinline, gnu::optimize("omit-frame-pointer"), maybe_unused]] void variable_realigned(int depth) {
    alignas(64) volatile char aligned[64];
    volatile char* room = static_cast<volatile char*>(alloca(choice() % 4 * 32 + 16));
    room[0] = 1;
    aligned[0] = 1;
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[0]) + static_cast<std::uint64_t>(aligned[0]);
}

[[gnu::noinline]] void wander(int depth) {
    if (depth == 0) {
        sink = sink + record_both();
        return;
    }
    static void (*const ways[])(int) = {
#if defined(__x86_64__) // elsewhere stacks are told by frame pointers
        without_frame_pointer,
        variable_realigned,
#endif
        plain,
        wide,
        variable,
        realigned
    };
    ways[choice() % std::size(ways)](depth - 1);
    sink = sink + 1;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_stack_is_what_called) {
    const TraceImage image = recorded(with_stacks, [&] { plain(0); });
    const StackTree tree(image);
    const auto pairs = both(image);
    BOOST_TEST_REQUIRE(pairs.size() == 1u);
    const Addresses stack = tree.addresses(pairs[0].id);
    BOOST_TEST_REQUIRE(stack.size() > 4u);
    BOOST_TEST(same_callers(stack, pairs[0].expected));
    const auto within = [](std::uint64_t address, auto function) {
        const auto first = reinterpret_cast<std::uint64_t>(function);
        return first < address && address < first + 1000;
    };
    BOOST_TEST(within(stack[0], record_both));
    BOOST_TEST(within(stack[1], wander));
    BOOST_TEST(within(stack[2], plain));
    std::map<std::uint64_t, trace::Module> modules;
    for (const trace::Module& module : image.all<trace::Module>())
        modules[module.id] = module;
    for (const trace::Frame& frame : image.all<trace::Frame>()) {
        const trace::Module& module = modules.at(frame.module);
        BOOST_TEST((module.first < frame.address && frame.address <= module.last));
    }
}

/// The heart of the cache: whatever way a stack came about, the number stands for what glibc's unwinder sees.
BOOST_AUTO_TEST_CASE(remembered_stacks_are_never_wrong) {
    constexpr int count = 30'000;
    const TraceImage image = recorded(with_stacks, [&] {
        for (int i = 0; i < count; ++i)
            wander(static_cast<int>(choice() % 4)); // few enough stacks that each comes often
    });
    check_both(image, count);
    BOOST_TEST(image.all<trace::Notice>().empty());
}

/// Below forty frames of all kinds, in a few ways that come again and again.
BOOST_AUTO_TEST_CASE(deep_stacks_are_remembered_and_never_wrong) {
    constexpr int count = 3000, ways = 7;
    const TraceImage image = recorded({.stack_frames = 128}, [&] {
        for (int i = 0; i < count; ++i) {
            choice.seed(static_cast<unsigned>(i % ways));
            wander(20);
        }
    });
    check_both(image, count);
    for (const Pair& pair : both(image))
        BOOST_TEST_REQUIRE(pair.expected.size() > 40u);
}

namespace {

/// Every other frame realigns the stack, as functions with vectors in them do.
[[gnu::noinline]] std::uint64_t stack_below(int frames);
[[gnu::noinline]] std::uint64_t stack_below_realigned(int frames) {
    alignas(64) volatile char room[64];
    room[0] = 1;
    const std::uint64_t id = stack_below(frames);
    sink = sink + static_cast<std::uint64_t>(room[0]);
    return id;
}
[[gnu::noinline]] std::uint64_t stack_below(int frames) {
    const std::uint64_t id = frames % 4 == 3 ? stack_below_realigned(frames - 1)
                             : frames == 0   ? record::stack()
                                             : stack_below(frames - 1);
    sink = sink + id; // keeps the frame
    return id;
}

} // namespace

// With ASan the test's own frame keeps an address near its end in a register that only our frames save, and a
// stack of which such a register may be part is unwound each time.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
namespace {
/// How many stacks with that number this thread's cache holds.
std::ptrdiff_t times_known(std::uint64_t id) {
    const auto& known = thread_writer()->stacks.known;
    return std::count_if(&known[0][0], &known[0][0] + sizeof known / sizeof known[0][0],
                         [id](const StackCache::Known& each) { return each.id == id; });
}

std::uint64_t last_stack = 0;
[[gnu::noinline]] void take_stack() {
    last_stack = record::stack();
}
} // namespace

/// It is no way out of any frame, so it does not make another stack of the same one.
BOOST_AUTO_TEST_CASE(data_in_rbp_does_not_matter) {
    recorded(with_stacks, [&] {
        for (std::uint64_t i = 0; i < 40; ++i)
            call_with_data_in_rbp([](int) { take_stack(); }, 0, i * 4096);
        return times_known(last_stack) == 1;
    });
}

BOOST_AUTO_TEST_CASE(stacks_of_any_kept_depth_are_remembered) {
    for (const int frames : {5, 40, 100})
        BOOST_TEST_CONTEXT(frames) {
            recorded({.stack_frames = 128}, [&] {
                std::uint64_t id = 0;
                for (int i = 0; i < 10; ++i)
                    id = stack_below(frames);
                return times_known(id) > 0;
            });
        }
}
#endif

BOOST_AUTO_TEST_CASE(the_depth_is_bounded) {
    const TraceImage image = recorded({.stack_frames = 3}, [&] {
        for (int i = 0; i < 10; ++i)
            wander(10);
    });
    const StackTree tree(image);
    for (const Pair& pair : both(image)) {
        const Addresses stack = tree.addresses(pair.id);
        BOOST_TEST(stack.size() == 3u);
        BOOST_TEST(same_callers(stack, Addresses(pair.expected.begin(), pair.expected.begin() + 2)));
    }
}

BOOST_AUTO_TEST_CASE(no_stacks_when_not_asked_for) {
    const TraceImage image = recorded([] { return record_both() == 0; });
    BOOST_TEST(image.all<trace::Frame>().empty());
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
BOOST_AUTO_TEST_CASE(a_thread_of_few_stacks_is_not_given_the_unwinders_memory) {
    const SharedPage page;
    recorded(with_stacks, [&] {
        const auto take = [&page] {
            rusage before{}, after{};
            getrusage(RUSAGE_THREAD, &before);
            for (int i = 0; i < 4; ++i)
                take_stack();
            getrusage(RUSAGE_THREAD, &after);
            page.words[0] = static_cast<std::uint64_t>(after.ru_minflt - before.ru_minflt);
        };
        for (int i = 0; i < 3; ++i) // in the pages of the one before
            std::thread(take).join();
        return last_stack != 0;
    });
    BOOST_TEST(page.words[0] < 32u); // the unwinder's memory has 64 pages
}
#endif

BOOST_AUTO_TEST_CASE(threads_share_the_stack_tree) {
    const TraceImage image = recorded(with_stacks, [&] {
        // The threads do not end: libunwind puts its own clean-up off to the last round of key destructors,
        // where the thread sanitizer has already taken its leave of the thread.
        static std::atomic<int> done{0};
        for (int t = 0; t < 8; ++t)
            std::thread([] {
                for (int i = 0; i < 2000; ++i) {
                    trace::Stream stream;
                    stream.stack = record::stack();
                    record::write(stream);
                }
                ++done;
                ::pause();
            }).detach();
        while (done != 8)
            sched_yield();
    });
    const StackTree tree(image);
    std::map<std::uint64_t, int> seen;
    for (const trace::Stream& stream : image.all<trace::Stream>())
        ++seen[stream.stack];
    BOOST_TEST(seen.size() == 1u);
    BOOST_TEST(seen.begin()->first != 0u);
    BOOST_TEST(tree.addresses(seen.begin()->first).size() > 2u);
}

namespace {

ucontext_t program_context, fiber_context;

std::uintptr_t fiber_floor = 0; ///< where its innermost frames lie, however large its stack is

[[gnu::noinline]] void capture_in_fiber() {
    for (int i = 0; i < 20; ++i)
        record_both();
}
void fiber_main() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    asm volatile("" ::"r"(alloca(here - fiber_floor)));
    capture_in_fiber();
    sink = sink + 1;
}

} // namespace

BOOST_AUTO_TEST_CASE(stacks_of_fibers_may_vanish) {
    const TraceImage image = recorded({.stack_frames = 4}, [&] {
        constexpr std::size_t bytes = 256 * 1024;
        void* const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fiber_floor = reinterpret_cast<std::uintptr_t>(place) + bytes / 4;
        for (int round = 0; round < 20; ++round) {
            // The lower half of the fiber's stack stays, the upper one goes: remembered words must not be
            // looked at.
            const std::size_t used = round % 2 == 0 ? bytes : bytes / 2;
            void* memory =
                mmap(place, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            getcontext(&fiber_context);
            fiber_context.uc_stack.ss_sp = memory;
            fiber_context.uc_stack.ss_size = used;
            fiber_context.uc_link = &program_context;
            makecontext(&fiber_context, fiber_main, 0);
            swapcontext(&program_context, &fiber_context);
            munmap(memory, used);
        }
    });
    check_both(image, 400);
}

#if defined(__x86_64__)

/// The unwinder follows words of a stack that are data, too, and reads where they point.
BOOST_AUTO_TEST_CASE(words_where_no_memory_is_are_not_read) {
    Unwinder unwinder{};
    BOOST_REQUIRE(load_unwinder(unwinder, {}) == nullptr);
    unwinder.take_over_memory();
    const auto read = [&](std::uintptr_t address) {
        unw_word_t word = 0;
        const bool good = unwinder.get_accessors(*unwinder.local_space)
                              ->access_mem(*unwinder.local_space, address, &word, 0, nullptr) == 0;
        return std::pair(good, word);
    };
    constexpr std::size_t page = 4096;
    void* const mapped = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(static_cast<char*>(mapped) + page, page);
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    *static_cast<std::uint64_t*>(mapped) = 7;
    for (int walk = 0; walk < 2; ++walk) {
        begin_walk();
        for (const std::uintptr_t none : {std::uintptr_t{0}, std::uintptr_t{0xd0}, std::uintptr_t{1} << 63,
                                          ~std::uintptr_t{0}, address + page})
            BOOST_TEST(!read(none).first);
        BOOST_TEST((read(address) == std::pair(true, unw_word_t{7})));
        BOOST_TEST(!read(address + page - 4).first); // half of it
    }
}

#endif

BOOST_AUTO_TEST_SUITE_END()

#include "interposer/record/frame_records.hpp"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <pthread.h>
#include <sys/mman.h>

BOOST_AUTO_TEST_SUITE(record_frames)

namespace {

using umadvisor::record::walk_frame_records;

struct Walk {
    void* found[64] = {};
    int count = 0;
    void *in_inner = nullptr, *in_outer = nullptr; ///< return addresses
    void* fake = nullptr;                          ///< the frame record above
};

[[gnu::noinline]] void inner(Walk& walk) {
    walk.in_inner = __builtin_return_address(0);
    errno = 7;
    walk.count = walk_frame_records(walk.found, 64);
    asm volatile("");
}

[[gnu::noinline]] void outer(Walk& walk) {
    walk.in_outer = __builtin_return_address(0);
    inner(walk);
    asm volatile("");
}

/// Calls `function`, whose caller's frame pointer is `frame`.
extern "C" void call_with_frame(void (*function)(void*), void* argument, void* frame);
#if defined(__x86_64__)
asm(".text\ncall_with_frame:\n"
    "push %rbp\nmov %rdx, %rbp\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\npop %rbp\nret\n");
#else
asm(".text\ncall_with_frame:\n"
    "stp x29, x30, [sp, #-16]!\nmov x29, x2\nmov x9, x0\nmov x0, x1\nblr x9\nldp x29, x30, [sp], #16\nret\n");
#endif

/// A thread's stack with pages of frame records above it, and behind them nothing that can be read.
class StackBelowRecords {
public:
    static constexpr std::size_t stack_bytes = 1 << 20, record_bytes = 1 << 16;

    StackBelowRecords()
        : base_(static_cast<char*>(mmap(nullptr, stack_bytes + 2 * record_bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        BOOST_REQUIRE(base_ != MAP_FAILED);
        BOOST_REQUIRE(mprotect(end(), record_bytes, PROT_NONE) == 0);
    }
    ~StackBelowRecords() { munmap(base_, stack_bytes + 2 * record_bytes); }
    StackBelowRecords(const StackBelowRecords&) = delete;
    StackBelowRecords& operator=(const StackBelowRecords&) = delete;

    char* records() { return base_ + stack_bytes; }
    char* end() { return records() + record_bytes; }

    void run(void* (*function)(void*), void* argument) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        BOOST_REQUIRE(pthread_attr_setstack(&attributes, base_, stack_bytes) == 0);
        pthread_t thread;
        BOOST_REQUIRE(pthread_create(&thread, &attributes, function, argument) == 0);
        pthread_join(thread, nullptr);
        pthread_attr_destroy(&attributes);
    }

private:
    char* base_;
};

/// Return addresses found, when the frame pointer leads to a record at `fake` that names `caller` as the next.
int found_through(StackBelowRecords& memory, char* fake, const void* caller) {
    reinterpret_cast<std::uintptr_t*>(fake)[0] = reinterpret_cast<std::uintptr_t>(caller);
    reinterpret_cast<std::uintptr_t*>(fake)[1] = 0x1234;
    Walk walk{.fake = fake};
    memory.run(
        [](void* given) -> void* {
            auto& inside = *static_cast<Walk*>(given);
            call_with_frame([](void* each) { inner(*static_cast<Walk*>(each)); }, given, inside.fake);
            return nullptr;
        },
        &walk);
    for (int i = 0; i < walk.count; ++i)
        if (walk.found[i] == reinterpret_cast<void*>(0x1234))
            return walk.count - i;
    return 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(callers_follow_each_other) {
    Walk walk;
    outer(walk);
    BOOST_TEST(errno == 7);
    BOOST_TEST_REQUIRE(walk.count > 3);
    BOOST_TEST(walk.found[1] == walk.in_inner);
    BOOST_TEST(walk.found[2] == walk.in_outer);
}

BOOST_AUTO_TEST_CASE(no_more_than_there_is_room_for) {
    void* found[3] = {};
    BOOST_TEST(walk_frame_records(found, 2) == 2);
    BOOST_TEST(found[2] == nullptr);
}

// The frame pointer may be any number, in code that is compiled to use the register for something else.
BOOST_AUTO_TEST_CASE(a_chain_that_leads_nowhere_ends) {
    StackBelowRecords memory;
    char* const fake = memory.records();
    BOOST_TEST(found_through(memory, fake, nullptr) == 1);
    BOOST_TEST(found_through(memory, fake, fake) == 1);         // to itself
    BOOST_TEST(found_through(memory, fake + 32, fake) == 1);    // down again
    BOOST_TEST(found_through(memory, fake, fake + 8) == 1);     // not aligned
    BOOST_TEST(found_through(memory, fake, memory.end()) == 1); // cannot be read
    BOOST_TEST(found_through(memory, fake, reinterpret_cast<void*>(~std::uintptr_t{15})) == 1);
    auto* const next = reinterpret_cast<std::uintptr_t*>(memory.end() - 16); // in another page, that can
    next[0] = 0;
    next[1] = 0x5678;
    BOOST_TEST(found_through(memory, fake, next) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

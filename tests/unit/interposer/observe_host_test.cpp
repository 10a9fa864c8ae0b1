#include "interposer/observe/allocations.hpp"
#include "interposer/observe/host_nodes.hpp"
#include "interposer/observe/host_ranges.hpp"
#include "interposer/observe/memory_class.hpp"
#include "observe_doubles.hpp"
#include "tests/unit/in_threads.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

BOOST_AUTO_TEST_SUITE(observe_host)

using namespace umadvisor;
using namespace umadvisor::observe;
using trace::HostRangeKind;

namespace {

char zeroed[64 * 1024];
char initialised[64 * 1024] = {1};

template <class T>
std::uint64_t word(T* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

/// Kind of the range that the test process itself has at `address`.
HostRangeKind kind_at(const void* address, std::uint64_t* first = nullptr, std::uint64_t* last = nullptr) {
    HostRange range{};
    if (!host_range_of(word(address), range))
        return HostRangeKind::unknown;
    if (first != nullptr)
        *first = range.first;
    if (last != nullptr)
        *last = range.last;
    for (const auto& [record, path] : recorder().host_ranges)
        if (record.id == range.id)
            return record.kind;
    BOOST_FAIL("a range without a record");
    return HostRangeKind::unknown;
}

/// Where nothing else ever was, and never unmapped: what is known of an address is believed for a while.
void* map(std::size_t bytes, int flags, int file = -1) {
    static std::uintptr_t next = 0x1f00'0000'0000;
    next += 1 << 24;
    void* const at = mmap(reinterpret_cast<void*>(next), bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    BOOST_REQUIRE(at != MAP_FAILED);
    std::memset(at, 1, bytes);
    return at;
}

} // namespace

struct Drive {
    Drive() {
        install_driver();
        set_host_range_allowance(60'000'000'000);
    }
};

BOOST_FIXTURE_TEST_SUITE(host_ranges, Drive)

BOOST_AUTO_TEST_CASE(memory_lies_on_the_node_of_the_thread_that_wrote_it_first) {
    cpu_set_t before, only;
    BOOST_REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    CPU_ZERO(&only);
    CPU_SET(sched_getcpu(), &only);
    BOOST_REQUIRE(sched_setaffinity(0, sizeof only, &only) == 0);
    void* const written = map(4096, MAP_PRIVATE | MAP_ANONYMOUS);
    BOOST_TEST(node_of_page(word(written)) == node_of_thread());
    BOOST_TEST(node_of_thread() != 0u);
    sched_setaffinity(0, sizeof before, &before);
}

BOOST_AUTO_TEST_CASE(what_is_not_in_memory_lies_on_no_node) {
    void* const untouched = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    BOOST_TEST(node_of_page(word(untouched)) == 0u);
    munmap(untouched, 4096);
    BOOST_TEST(node_of_page(word(untouched)) == 0u);
}

BOOST_AUTO_TEST_CASE(lines_of_maps_are_taken_apart) {
    Mapping mapping{};
    BOOST_TEST(parse_mapping("7f12a000-7f12b000 rw-s 00001000 00:01 1234                       /dev/shm/a b",
                             mapping));
    BOOST_TEST(mapping.first == 0x7f12a000u);
    BOOST_TEST(mapping.last == 0x7f12b000u);
    BOOST_TEST(mapping.readable);
    BOOST_TEST(mapping.writable);
    BOOST_TEST(mapping.shared);
    BOOST_TEST(mapping.path == "/dev/shm/a b");
    BOOST_TEST(parse_mapping("1000-2000 r--p 00000000 00:00 0 ", mapping));
    BOOST_TEST(!mapping.writable);
    BOOST_TEST(!mapping.shared);
    BOOST_TEST(mapping.path.empty());
    for (const char* broken : {"", "1000", "1000-", "xyz-2000 rw-p 0 0 0", "1000-2000", "1000-2000 rw"})
        BOOST_TEST(!parse_mapping(broken, mapping));
}

BOOST_AUTO_TEST_CASE(the_process_own_memory_is_told_apart) {
    recorder().host_ranges.reserve(64);
    int on_stack = 0;
    BOOST_TEST((kind_at(&on_stack) == HostRangeKind::stack));
    BOOST_TEST((kind_at(zeroed + 40000) == HostRangeKind::program));
    BOOST_TEST((kind_at(initialised) == HostRangeKind::program));
    void* const anonymous = map(1 << 20, MAP_PRIVATE | MAP_ANONYMOUS);
    BOOST_TEST((kind_at(anonymous) == HostRangeKind::mapping));
    void* const shared = map(1 << 20, MAP_SHARED | MAP_ANONYMOUS);
    BOOST_TEST((kind_at(shared) == HostRangeKind::shared));
    const int memory = memfd_create("test", MFD_CLOEXEC);
    BOOST_REQUIRE(ftruncate(memory, 1 << 20) == 0);
    void* const memory_file = map(1 << 20, MAP_SHARED, memory);
    BOOST_TEST((kind_at(memory_file) == HostRangeKind::shared));
    char name[] = "observe-XXXXXX";
    const int file = mkstemp(name);
    BOOST_REQUIRE(ftruncate(file, 1 << 20) == 0);
    void* const of_file = map(1 << 20, MAP_PRIVATE, file);
    BOOST_TEST((kind_at(of_file) == HostRangeKind::file));
    BOOST_TEST(recorder().host_ranges.back().second.ends_with(name));
    HostRange none{};
    BOOST_TEST(!host_range_of(16, none));
    unlink(name);
    close(file);
    close(memory);
}

BOOST_AUTO_TEST_CASE(a_threads_stack_is_known_to_that_thread) {
    HostRangeKind kind{};
    std::thread([&] {
        char buffer[256] = {};
        kind = kind_at(buffer);
    }).join();
    BOOST_TEST((kind == HostRangeKind::stack));
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) // they bring their own malloc
BOOST_AUTO_TEST_CASE(malloc_is_heap_small_and_large_and_in_the_middle) {
    void* const small = std::calloc(1, 1000);
    BOOST_TEST((kind_at(small) == HostRangeKind::heap));
    constexpr std::size_t bytes = 700 * 1024; // above M_MMAP_THRESHOLD: a mapping of its own, beside the next
    char* const large[] = {static_cast<char*>(std::malloc(bytes)), static_cast<char*>(std::malloc(bytes)),
                           static_cast<char*>(std::malloc(bytes))};
    // What is mapped next would otherwise lie right below and be one range with them.
    void* const apart = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (char* chunk : large) {
        std::uint64_t first = 0, last = 0;
        BOOST_TEST((kind_at(chunk + bytes / 2, &first, &last) == HostRangeKind::heap));
        BOOST_TEST(first == word(chunk) - 16);
        BOOST_TEST(last >= word(chunk) + bytes);
        BOOST_TEST(last - first < bytes + 8192);
    }
    HostRangeKind in_arena{};
    std::thread([&] {
        void* const mine = std::calloc(1, 1000);
        in_arena = kind_at(mine);
        std::free(mine);
    }).join();
    BOOST_TEST((in_arena == HostRangeKind::heap));
    std::free(small);
    for (char* chunk : large)
        std::free(chunk);
    munmap(apart, bytes);
}
#endif

BOOST_AUTO_TEST_CASE(a_known_range_is_not_read_again) {
    char* const anonymous = static_cast<char*>(map(1 << 20, MAP_PRIVATE | MAP_ANONYMOUS));
    HostRange first{}, second{};
    BOOST_REQUIRE(host_range_of(word(anonymous), first));
    const std::size_t defined = recorder().host_ranges.size();
    BOOST_REQUIRE(host_range_of(word(anonymous) + 4096, second));
    BOOST_TEST(first.id == second.id);
    BOOST_TEST(recorder().host_ranges.size() == defined);
}

BOOST_AUTO_TEST_CASE(a_range_is_read_again_after_a_while) {
    void* const at = map(1 << 16, MAP_SHARED | MAP_ANONYMOUS);
    BOOST_TEST((kind_at(at) == HostRangeKind::shared));
    BOOST_REQUIRE(mmap(at, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                  at);
    BOOST_TEST((kind_at(at) == HostRangeKind::shared));
    pass_time(300'000'000);
    BOOST_TEST((kind_at(at) == HostRangeKind::mapping));
}

BOOST_AUTO_TEST_CASE(what_nothing_has_touched_stays_so) {
    void* const untouched = mmap(reinterpret_cast<void*>(0x1e00'0000'0000), 1 << 20, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HostRange range{};
    BOOST_TEST(host_range_of(word(untouched) + 16, range));
    unsigned char in_memory[(1 << 20) / 4096] = {};
    BOOST_REQUIRE(mincore(untouched, 1 << 20, in_memory) == 0);
    BOOST_TEST(std::count(std::begin(in_memory), std::end(in_memory), 1) == 0);
}

BOOST_AUTO_TEST_CASE(looks_end_with_the_allowance) {
    set_host_range_allowance(0);
    HostRange range{};
    int known = 0;
    pass_time(10'000'000'000); // of which 1% is spent on 3,000 looks or so
    for (int look = 0; look < 10'000; ++look)
        known += host_range_of(16, range); // nothing is there: looked for each time
    BOOST_TEST(known == 0);
    BOOST_TEST(!host_range_of(word(map(1 << 16, MAP_SHARED | MAP_ANONYMOUS)), range));
    set_host_range_allowance(60'000'000'000);
    BOOST_TEST(host_range_of(word(map(1 << 16, MAP_SHARED | MAP_ANONYMOUS)), range));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(memory_class, Drive)

BOOST_AUTO_TEST_CASE(our_own_index_comes_first) {
    const Allocation made = made_allocation(0x7e00'0000'0000, 0x1000, trace::Memory::pinned);
    allocations().insert(made);
    const End end = classify(made.address + 8, 8);
    BOOST_TEST((end.memory == trace::Memory::pinned));
    BOOST_TEST(number(end.allocation) == made.id);
    BOOST_TEST(driver().asked == 0u);
    erase_allocation(made.address);
}

BOOST_AUTO_TEST_CASE(the_driver_is_asked_once_for_a_range) {
    const auto has = [](std::uint64_t first, std::uint64_t bytes, CUmemorytype type, bool managed) {
        driver().pointers[first + bytes] = {type, managed, first, bytes};
    };
    has(0x10'0000'0000, 0x10000, CU_MEMORYTYPE_DEVICE, false);
    has(0x20'0000'0000, 0x10000, CU_MEMORYTYPE_HOST, false);
    has(0x30'0000'0000, 0x10000, CU_MEMORYTYPE_DEVICE, true);
    BOOST_TEST((classify(0x10'0000'0010, 16).memory == trace::Memory::device));
    BOOST_TEST((classify(0x20'0000'0010, 16).memory == trace::Memory::pinned));
    BOOST_TEST((classify(0x30'0000'0010, 16).memory == trace::Memory::managed));
    const std::uint64_t asked = driver().asked;
    BOOST_TEST((classify(0x10'0000'ffff, 1).memory == trace::Memory::device));
    BOOST_TEST((classify(0x20'0000'0000, 1).memory == trace::Memory::pinned));
    BOOST_TEST((classify(0x30'0000'8000, 1).memory == trace::Memory::managed));
    BOOST_TEST(driver().asked == asked);
    BOOST_TEST((classify(0x10'0001'0000, 1).memory == trace::Memory::pageable)); // just behind
    BOOST_TEST((classify(0, 1).memory == trace::Memory::unknown));
}

BOOST_AUTO_TEST_CASE(pageable_memory_has_its_range_and_is_asked_for_once_whatever_else_comes_and_goes) {
    char* const buffer = static_cast<char*>(map(1 << 20, MAP_PRIVATE | MAP_ANONYMOUS));
    const End first = classify(word(buffer), 100);
    BOOST_TEST((first.memory == trace::Memory::pageable));
    BOOST_TEST(first.host_range != 0u);
    const std::uint64_t asked = driver().asked;
    BOOST_TEST(classify(word(buffer) + 5000, 100).host_range == first.host_range);
    BOOST_TEST(driver().asked == asked);
    allocations().insert(made_allocation(0x7e10'0000'0000, 64, trace::Memory::device));
    allocations().insert(made_allocation(word(buffer), 4096, trace::Memory::registered));
    BOOST_TEST((classify(word(buffer), 100).memory == trace::Memory::registered));
    BOOST_TEST((classify(word(buffer) + 4096, 100).memory == trace::Memory::pageable));
    erase_allocation(word(buffer));
    BOOST_TEST((classify(word(buffer), 100).memory == trace::Memory::pageable));
    BOOST_TEST(driver().asked == asked);
}

BOOST_AUTO_TEST_CASE(what_the_index_does_not_hold_may_go_unseen) {
    char* const buffer = static_cast<char*>(map(1 << 16, MAP_PRIVATE | MAP_ANONYMOUS));
    driver().pointers[word(buffer) + (1 << 16)] = {CU_MEMORYTYPE_HOST, false, word(buffer), 1 << 16};
    BOOST_TEST((classify(word(buffer), 100).memory == trace::Memory::pinned));
    driver().pointers.clear();
    allocations().insert(made_allocation(0x7e11'0000'0000, 64, trace::Memory::device));
    BOOST_TEST((classify(word(buffer), 100).memory == trace::Memory::pageable));
}

BOOST_AUTO_TEST_CASE(a_driver_that_cannot_be_asked_leaves_it_unknown) {
    remove_entry(attach::Entry::cuPointerGetAttribute);
    const void* const buffer = map(4096, MAP_PRIVATE | MAP_ANONYMOUS);
    BOOST_TEST((classify(word(buffer), 8).memory == trace::Memory::unknown));
}

BOOST_AUTO_TEST_CASE(threads_may_ask_together) {
    std::vector<char*> buffers;
    for (int i = 0; i < 8; ++i)
        buffers.push_back(static_cast<char*>(map(1 << 16, MAP_PRIVATE | MAP_ANONYMOUS)));
    std::atomic<int> wrong{0};
    test::in_threads(3, [&](std::size_t thread) {
        for (std::size_t i = 0; i < 2000; ++i) {
            wrong += classify(word(buffers[i % 8]) + 64, 8).memory != trace::Memory::pageable;
            if (thread == 0 && i % 16 == 0)
                allocations().insert(made_allocation(0x7e20'0000'0000, 64, trace::Memory::device));
        }
    });
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

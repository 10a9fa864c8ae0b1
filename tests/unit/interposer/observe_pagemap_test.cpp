#include "interposer/observe/pagemap.hpp"
#include "managed_like.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <sys/mman.h>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(observe_pagemap)

using namespace umadvisor;
using namespace umadvisor::observe;

namespace {

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Runs present(Pagemap& pagemap, std::uint64_t first, std::uint64_t last, std::uint64_t* reached = nullptr) {
    Runs runs;
    const std::uint64_t end = pagemap.visit_present(
        first, last,
        [](void* to, std::uint64_t from, std::uint64_t until) {
            Runs& all = *static_cast<Runs*>(to);
            if (!all.empty() && all.back().second == from)
                all.back().second = until;
            else
                all.emplace_back(from, until);
        },
        &runs);
    if (reached != nullptr)
        *reached = end;
    return runs;
}

} // namespace

BOOST_AUTO_TEST_CASE(both_ways_find_the_same_mapped_pages) {
    ManagedLike memory(256);
    memory.touch(0, 256);
    memory.leave(16, 100);
    memory.leave(200, 1);
    const Runs expected{{memory.address(0), memory.address(16)},
                        {memory.address(116), memory.address(200)},
                        {memory.address(201), memory.address(256)}};
    Pagemap pagemap;
    BOOST_REQUIRE(pagemap.trouble() == nullptr);
    std::uint64_t reached = 0;
    const Runs by_default = present(pagemap, memory.address(0), memory.address(256), &reached);
    BOOST_TEST((by_default == expected));
    BOOST_TEST(reached == memory.address(256));
    pagemap.forbid_scan();
    const Runs by_entries = present(pagemap, memory.address(0), memory.address(256), &reached);
    BOOST_TEST((by_entries == expected));
    BOOST_TEST(reached == memory.address(256));
}

BOOST_AUTO_TEST_CASE(memory_of_no_file_is_seen_too) {
    constexpr std::size_t bytes = 64 * 4096;
    char* const at =
        static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(at, bytes, MADV_NOHUGEPAGE);
    const auto first = reinterpret_cast<std::uint64_t>(at);
    madvise(at + 8 * 4096, 4 * 4096, MADV_POPULATE_WRITE);
    Pagemap pagemap;
    BOOST_TEST((present(pagemap, first, first + bytes) == Runs{{first + 8 * 4096, first + 12 * 4096}}));
    munmap(at, bytes);
}

BOOST_AUTO_TEST_CASE(very_many_runs_stop_a_look_early_and_say_where) {
    ManagedLike memory(65536);
    memory.touch(0, 65536);
    for (std::uint64_t page = 0; page < 65536; page += 2)
        memory.leave(page, 1);
    Pagemap pagemap;
    std::uint64_t reached = 0;
    const Runs runs = present(pagemap, memory.address(0), memory.address(65536), &reached);
    BOOST_TEST(runs.size() >= 1000u);
    BOOST_TEST((reached - memory.address(0)) / 8192 == runs.size());
    BOOST_TEST(reached <= memory.address(65536));
}

BOOST_AUTO_TEST_SUITE_END()

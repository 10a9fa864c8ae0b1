#include "interposer/base/blocks.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(record_pages)

using namespace umadvisor;

namespace {

/// Mappings of this process; the kernel allows it 65,530 (vm.max_map_count).
int mappings() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
        ++count;
    return count;
}

} // namespace

BOOST_AUTO_TEST_CASE(pages_given_back_leave_nothing) {
    const int before = mappings();
    for (const std::size_t bytes : {1u, 65536u, 65537u, 1u << 20})
        for (int i = 0; i < 100; ++i) {
            void* const pages = base::map_pages(bytes);
            BOOST_TEST_REQUIRE(pages != nullptr);
            static_cast<char*>(pages)[bytes - 1] = 1;
            base::unmap_pages(pages, bytes);
        }
    BOOST_TEST(mappings() < before + 50); // a sanitizer maps some of its own
}

// ThreadSanitizer keeps mappings where it knows of them.
#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if !__has_feature(thread_sanitizer)
BOOST_AUTO_TEST_CASE(what_the_program_maps_keeps_its_neighbours) {
    constexpr std::size_t bytes = 1 << 20;
    void* const programs = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    BOOST_TEST_REQUIRE(programs != MAP_FAILED);
    void* const first = base::map_pages(bytes);
    void* const second = base::map_pages(bytes);
    const auto distance = [&](void* pages) {
        const auto ours = reinterpret_cast<std::uintptr_t>(pages),
                   other = reinterpret_cast<std::uintptr_t>(programs);
        return ours < other ? other - ours : ours - other;
    };
    for (void* const pages : {first, second}) {
        BOOST_TEST(distance(pages) > 1ull << 36);
        base::unmap_pages(pages, bytes);
    }
    BOOST_TEST(first != second);
    munmap(programs, bytes);
}
#endif

BOOST_AUTO_TEST_CASE(many_blocks_are_few_mappings) {
    base::Blocks blocks;
    std::vector<void*> taken;
    const int before = mappings();
    for (int i = 0; i < 3000; ++i) {
        taken.push_back(blocks.take(1000));
        BOOST_TEST_REQUIRE(taken.back() != nullptr);
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(taken.back()) % 64 == 0u);
        std::memset(taken.back(), i, 1000);
    }
    for (int i = 0; i < 3000; ++i)
        BOOST_TEST_REQUIRE(static_cast<unsigned char*>(taken[static_cast<std::size_t>(i)])[999] == i % 256);
    BOOST_TEST(mappings() < before + 60);
}

BOOST_AUTO_TEST_CASE(a_block_given_back_serves_again) {
    base::Blocks blocks;
    const int before = mappings();
    for (const std::size_t bytes : {1u, 700u, 65536u, 65537u, 1u << 20})
        for (int i = 0; i < 100; ++i) {
            void* const block = blocks.take(bytes);
            BOOST_TEST_REQUIRE(block != nullptr);
            std::memset(block, i, bytes);
            blocks.give(block, bytes);
        }
    BOOST_TEST(mappings() < before + 60);
    void* const first = blocks.take(600);
    void* const second = blocks.take(600);
    BOOST_TEST(first != second);
    blocks.give(first, 600);
    BOOST_TEST(blocks.take(1024) == first);
}

BOOST_AUTO_TEST_SUITE_END()

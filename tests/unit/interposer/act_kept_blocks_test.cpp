/// What is kept of the memory that a program gives up (policy/kept_blocks.hpp).
#include "policy/kept_blocks.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <set>

BOOST_AUTO_TEST_SUITE(act_kept_blocks_test)

using namespace umadvisor::policy;

namespace {

constexpr BlockKind page{4096, 0, 1};

/// Comes back for the kind, so that it is kept from now on.
void come_back(KeptBlocks& blocks, const BlockKind& kind) {
    for (unsigned i = 0; i < KeptBlocks::least_returns; ++i) {
        BOOST_TEST(!blocks.give_up(kind));
        BOOST_TEST(blocks.take(kind) == 0u);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_kind_is_kept_once_the_program_has_come_back_for_it) {
    const auto blocks = std::make_unique<KeptBlocks>();
    BOOST_TEST(blocks->take(page) == 0u);
    come_back(*blocks, page);
    BOOST_TEST(blocks->give_up(page));
    BOOST_TEST(blocks->keep({page, 0x1000}));
    BOOST_TEST(blocks->holds(0x1000));
    BOOST_TEST(blocks->take(page) == 0x1000u);
    BOOST_TEST(!blocks->holds(0x1000));
    BOOST_TEST(blocks->take(page) == 0u);
}

BOOST_AUTO_TEST_CASE(memory_that_is_freed_at_the_end_is_not_kept) {
    const auto blocks = std::make_unique<KeptBlocks>();
    for (int i = 0; i < 100; ++i)
        blocks->take(page);
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(!blocks->give_up(page));
}

BOOST_AUTO_TEST_CASE(some_requests_are_left_to_the_driver_to_compare) {
    const auto blocks = std::make_unique<KeptBlocks>();
    come_back(*blocks, page);
    unsigned compared = 0;
    for (int i = 0; i < 10'000; ++i) {
        if (blocks->give_up(page))
            BOOST_TEST(blocks->keep({page, 0x1000}));
        compared += blocks->take(page) == 0;
    }
    BOOST_TEST(compared == KeptBlocks::most_compared);
}

BOOST_AUTO_TEST_CASE(size_flags_and_context_have_to_be_equal) {
    const auto blocks = std::make_unique<KeptBlocks>();
    come_back(*blocks, page);
    BOOST_TEST(blocks->keep({page, 0x1000}));
    for (const BlockKind other : {BlockKind{4095, 0, 1}, BlockKind{4096, 1, 1}, BlockKind{4096, 0, 2}})
        BOOST_TEST(blocks->take(other) == 0u);
    BOOST_TEST(blocks->take(page) == 0x1000u);
}

BOOST_AUTO_TEST_CASE(what_is_no_longer_asked_for_is_idle) {
    const auto blocks = std::make_unique<KeptBlocks>();
    come_back(*blocks, page);
    BOOST_TEST(blocks->keep({page, 0x1000}));
    KeptBlock idle;
    const auto look = [&] {
        for (std::size_t i = 0; i < KeptBlocks::most_kinds; ++i)
            if (blocks->remove_idle(idle))
                return true;
        return false;
    };
    BOOST_TEST(!look());
    for (std::uint64_t i = 0; i <= KeptBlocks::idle_after; ++i)
        blocks->take({100, 0, 1});
    BOOST_TEST(look());
    BOOST_TEST(idle.address == 0x1000u);
    BOOST_TEST(!look());
    BOOST_TEST(!blocks->give_up(page)); // it has to come back anew
}

BOOST_AUTO_TEST_CASE(there_is_an_end_to_blocks_and_kinds) {
    const auto blocks = std::make_unique<KeptBlocks>();
    come_back(*blocks, page);
    for (std::uint64_t i = 1; i <= KeptBlocks::most_blocks; ++i)
        BOOST_TEST(blocks->keep({page, i * 4096}));
    BOOST_TEST(!blocks->keep({page, 1}));
    std::set<std::uint64_t> addresses;
    for (KeptBlock block; blocks->remove_any(block);)
        BOOST_TEST(addresses.insert(block.address).second);
    BOOST_TEST(addresses.size() == KeptBlocks::most_blocks);
    for (std::uint64_t bytes = 1; bytes < 10 * KeptBlocks::most_kinds; ++bytes)
        blocks->give_up({bytes, 0, 1});
    BOOST_TEST(blocks->give_up(page) == false); // another kind has its place
}

BOOST_AUTO_TEST_CASE(blocks_of_a_context_that_ended_are_forgotten) {
    const auto blocks = std::make_unique<KeptBlocks>();
    constexpr BlockKind other{4096, 0, 2};
    come_back(*blocks, page);
    come_back(*blocks, other);
    BOOST_TEST(blocks->keep({page, 0x1000}));
    BOOST_TEST(blocks->keep({other, 0x2000}));
    blocks->forget_context(1);
    BOOST_TEST(blocks->take(page) == 0u);
    BOOST_TEST(blocks->take(other) == 0x2000u);
}

BOOST_AUTO_TEST_SUITE_END()

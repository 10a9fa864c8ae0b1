/// What is kept of the memory that a program gives up (policy/kept_blocks.hpp).
#include "policy/kept_blocks.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <set>

BOOST_AUTO_TEST_SUITE(act_kept_blocks_test)

using namespace umadvisor::policy;
using Source = KeptBlocks::Source;

namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint64_t second = 1'000'000'000;

constexpr BlockKind kind_of(std::uint64_t bytes, std::uint16_t context = 1) {
    return {.bytes = bytes, .place = 1, .flags = 0, .entry = 5, .context = context};
}

/// A program whose blocks have addresses that count up.
struct Program {
    /// Returns the address of a block, which is a kept one or one that the driver makes in 100 ticks.
    std::uint64_t allocate(const BlockKind& kind, std::uint64_t ticks = 10) {
        KeptBlock block;
        const Source source = blocks->hand_out(kind, block);
        compared += source == Source::compared;
        if (source == Source::kept) {
            ++reused;
            refused += blocks->handed_out(kind, ticks);
            BOOST_TEST((block.kind == kind));
            return block.address;
        }
        blocks->made(kind, 100);
        return last += 4096;
    }
    /// Returns whether it is kept.
    bool free(std::uint64_t address, const BlockKind& kind, std::uint64_t now = 0) {
        return blocks->wants(kind) && blocks->keep({kind, address, 99}, now);
    }
    /// Allocates and frees; returns how often the block was kept.
    int use(const BlockKind& kind, int times, std::uint64_t now = 0, std::uint64_t ticks = 10) {
        int kept = 0;
        for (int i = 0; i < times; ++i)
            kept += free(allocate(kind, ticks), kind, now);
        return kept;
    }
    /// Whether there is an old block, of this context.
    bool has_old(std::uint64_t now, std::uint16_t context = 1) { return blocks->remove_old(context, now, old); }

    std::unique_ptr<KeptBlocks> blocks = std::make_unique<KeptBlocks>();
    KeptBlock old;
    std::uint64_t last = 0;
    int reused = 0, refused = 0, compared = 0;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_block_is_kept_once_the_program_has_come_back_for_it_twice, Program) {
    BOOST_TEST(use(kind_of(mib), 2) == 0);
    BOOST_TEST(use(kind_of(mib), 10) == 10);
    BOOST_TEST(reused == 9);
    BOOST_TEST(blocks->holds(last));
    BOOST_TEST(allocate(kind_of(mib)) == last);
    BOOST_TEST(!blocks->holds(last));
}

BOOST_FIXTURE_TEST_CASE(allocations_without_a_free_between_them_are_no_return, Program) {
    for (int i = 0; i < 100; ++i)
        allocate(kind_of(mib));
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(!free(1, kind_of(mib)));
}

BOOST_FIXTURE_TEST_CASE(some_requests_are_left_to_the_driver_to_compare, Program) {
    use(kind_of(mib), 10'000);
    BOOST_TEST(compared == 2 + 8); // the first ones, and 64, 128, ... 8192
}

BOOST_FIXTURE_TEST_CASE(blocks_that_differ_in_anything_are_not_of_one_kind, Program) {
    use(kind_of(mib), 3);
    BlockKind others[] = {kind_of(mib + 1), kind_of(mib, 2), kind_of(mib), kind_of(mib), kind_of(mib)};
    ++others[2].place;
    ++others[3].flags;
    ++others[4].entry;
    KeptBlock block;
    for (const BlockKind& other : others)
        BOOST_TEST((blocks->hand_out(other, block) == Source::driver));
    BOOST_TEST((blocks->hand_out(kind_of(mib), block) == Source::kept));
}

BOOST_AUTO_TEST_CASE(no_more_has_room_than_the_budget) {
    KeptBudget budget{16 * mib, 0};
    BOOST_TEST(budget.has_room(16 * mib));
    BOOST_TEST(!budget.has_room(16 * mib + 1));
    budget.used = 15 * mib;
    BOOST_TEST(budget.has_room(mib));
    BOOST_TEST(!budget.has_room(mib + 1));
    budget.limit = 8 * mib;
    BOOST_TEST(!budget.has_room(0));
}

BOOST_FIXTURE_TEST_CASE(a_block_that_is_not_used_for_two_seconds_is_old, Program) {
    use(kind_of(mib), 3, second);
    BOOST_TEST(!has_old(3 * second));
    BOOST_TEST(!has_old(4 * second, 2)); // of another context
    BOOST_TEST(has_old(4 * second));
    BOOST_TEST(old.address == last);
    BOOST_TEST(old.owner == 99u);
    BOOST_TEST(!blocks->holds(last));
    use(kind_of(mib), 1, 5 * second);
    BOOST_TEST(has_old(8 * second, 0)); // of any context
}

BOOST_FIXTURE_TEST_CASE(a_block_is_old_after_many_requests_for_other_kinds, Program) {
    use(kind_of(mib), 3);
    for (std::uint64_t i = 0; i <= KeptBlocks::old_after; ++i) {
        BOOST_TEST_REQUIRE(!has_old(0));
        allocate(kind_of(2 * mib));
    }
    BOOST_TEST(has_old(0));
    BOOST_TEST(!has_old(0));
    BOOST_TEST(use(kind_of(mib), 2) == 0); // it has to come back anew
}

BOOST_FIXTURE_TEST_CASE(of_two_blocks_of_which_one_is_needed_the_other_grows_old, Program) {
    const BlockKind kind = kind_of(mib);
    use(kind, 3);
    const std::uint64_t first = allocate(kind), other = allocate(kind);
    free(first, kind);
    free(other, kind);
    use(kind, 10, 3 * second);
    BOOST_TEST(has_old(4 * second));
    BOOST_TEST(old.address == first);
    BOOST_TEST(!has_old(4 * second));
}

BOOST_FIXTURE_TEST_CASE(a_kind_that_the_driver_makes_faster_is_refused, Program) {
    use(kind_of(mib), 100, 0, 90);
    BOOST_TEST(refused == 0);
    const int kept = use(kind_of(2 * mib), 100, 0, 110);
    BOOST_TEST(refused == 1);
    BOOST_TEST(kept == static_cast<int>(KeptBlocks::trial));
    BOOST_TEST(use(kind_of(mib), 1) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_context_that_ends_has_no_blocks, Program) {
    use(kind_of(mib, 1), 3);
    use(kind_of(2 * mib, 2), 3);
    BOOST_TEST(blocks->forget_context(1) == mib);
    BOOST_TEST(use(kind_of(mib, 1), 1) == 0);
    BOOST_TEST(use(kind_of(2 * mib, 2), 1) == 1);
    KeptBlock any;
    BOOST_TEST(blocks->remove_any(any));
    BOOST_TEST(!blocks->remove_any(any));
}

BOOST_FIXTURE_TEST_CASE(there_is_an_end_to_blocks_and_kinds, Program) {
    const BlockKind kind = kind_of(mib);
    use(kind, 2);
    for (std::uint64_t i = 1; i <= KeptBlocks::most_blocks; ++i)
        BOOST_TEST(blocks->keep({kind, i * 4096, 99}, 0));
    BOOST_TEST(!blocks->keep({kind, 1, 99}, 0));
    std::set<std::uint64_t> addresses;
    for (KeptBlock block; blocks->remove_any(block);)
        BOOST_TEST(addresses.insert(block.address).second);
    BOOST_TEST(addresses.size() == KeptBlocks::most_blocks);
    for (std::uint64_t bytes = 1; bytes < 10 * KeptBlocks::most_kinds; ++bytes)
        blocks->wants(kind_of(bytes));
    BOOST_TEST(!blocks->wants(kind)); // another kind has its place
}

BOOST_AUTO_TEST_SUITE_END()

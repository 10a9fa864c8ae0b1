#include "policy/pinned_blocks.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(act_pinned)

using namespace umadvisor::policy;

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint64_t second = 1'000'000'000;

constexpr PinnedKind kind_of(std::uint64_t bytes, std::uint16_t context = 1) {
    return {.bytes = bytes, .node = 1, .flags = 0, .entry = 5, .context = context};
}

/// A program with a budget of 16 MiB for what it frees. Blocks have addresses that count up.
struct Program {
    Program() { blocks.set_budget(16 * mib); }

    /// Returns the address of a block, which is a kept one or one that the driver makes in 100 ticks.
    std::uint64_t allocate(const PinnedKind& kind, std::uint64_t ticks = 10) {
        PinnedBlock block;
        if (blocks.hand_out(kind, block)) {
            ++reused;
            given_up += blocks.handed_out(kind, ticks);
            BOOST_TEST((block.kind == kind));
            return block.address;
        }
        blocks.made(kind, 100);
        return last += 4096;
    }
    /// Returns whether it is kept.
    bool free(std::uint64_t address, const PinnedKind& kind, std::uint64_t now = 0) {
        return blocks.wants(kind) && blocks.keep({address, 99, kind}, now);
    }
    /// Allocates and frees; returns how often the block was kept.
    int use(const PinnedKind& kind, int times, std::uint64_t now = 0, std::uint64_t ticks = 10) {
        int kept = 0;
        for (int i = 0; i < times; ++i)
            kept += free(allocate(kind, ticks), kind, now);
        return kept;
    }
    PinnedBlocks blocks;
    std::uint64_t last = 0;
    int reused = 0, given_up = 0;
};

BOOST_FIXTURE_TEST_CASE(a_block_is_kept_once_the_program_has_come_back_for_it_twice, Program) {
    BOOST_TEST(use(kind_of(mib), 2) == 0);
    BOOST_TEST(use(kind_of(mib), 10) == 10);
    BOOST_TEST(reused == 9);
    BOOST_TEST(blocks.bytes() == mib);
    BOOST_TEST(blocks.holds(last));
}

BOOST_FIXTURE_TEST_CASE(allocations_without_a_free_between_them_are_no_return, Program) {
    for (int i = 0; i < 10; ++i)
        allocate(kind_of(mib));
    BOOST_TEST(!free(1, kind_of(mib)));
    BOOST_TEST(!free(2, kind_of(mib)));
}

BOOST_FIXTURE_TEST_CASE(blocks_that_differ_in_anything_are_not_of_one_kind, Program) {
    use(kind_of(mib), 3);
    PinnedKind others[] = {kind_of(mib + 1), kind_of(mib, 2), kind_of(mib), kind_of(mib), kind_of(mib)};
    ++others[2].node;
    ++others[3].flags;
    ++others[4].entry;
    for (const PinnedKind& other : others) {
        PinnedBlock block;
        BOOST_TEST(!blocks.hand_out(other, block));
    }
    BOOST_TEST(blocks.bytes() == mib);
}

BOOST_FIXTURE_TEST_CASE(no_more_is_kept_than_the_budget, Program) {
    const PinnedKind kind = kind_of(5 * mib);
    use(kind, 3);
    std::uint64_t all[5];
    for (std::uint64_t& each : all)
        each = allocate(kind);
    int kept = 0;
    for (const std::uint64_t each : all)
        kept += free(each, kind);
    BOOST_TEST(kept == 3);
    blocks.set_budget(0);
    BOOST_TEST(!free(allocate(kind), kind));
}

BOOST_FIXTURE_TEST_CASE(a_block_that_is_not_used_for_two_seconds_is_old, Program) {
    use(kind_of(mib), 3, second);
    PinnedBlock old;
    BOOST_TEST(!blocks.remove_old(1, 3 * second, old));
    BOOST_TEST(!blocks.remove_old(2, 4 * second, old)); // of another context
    BOOST_TEST(blocks.remove_old(1, 4 * second, old));
    BOOST_TEST(old.address == last);
    BOOST_TEST(old.context == 99u);
    BOOST_TEST(blocks.bytes() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_block_is_old_after_many_allocations_of_other_kinds, Program) {
    use(kind_of(mib), 3);
    PinnedBlock old;
    for (std::uint64_t i = 0; i <= PinnedBlocks::old_after; ++i) {
        BOOST_TEST_REQUIRE(!blocks.remove_old(1, 0, old));
        allocate(kind_of(2 * mib));
    }
    BOOST_TEST(blocks.remove_old(1, 0, old));
}

BOOST_FIXTURE_TEST_CASE(of_two_blocks_of_which_one_is_needed_the_other_grows_old, Program) {
    const PinnedKind kind = kind_of(mib);
    use(kind, 3);
    const std::uint64_t first = allocate(kind), other = allocate(kind);
    free(first, kind);
    free(other, kind);
    use(kind, 10, 3 * second);
    PinnedBlock old;
    BOOST_TEST(blocks.remove_old(1, 4 * second, old));
    BOOST_TEST(old.address == first);
    BOOST_TEST(!blocks.remove_old(1, 4 * second, old));
}

BOOST_FIXTURE_TEST_CASE(a_kind_that_the_driver_makes_faster_is_given_up, Program) {
    use(kind_of(mib), 100, 0, 90);
    BOOST_TEST(given_up == 0);
    const int kept = use(kind_of(2 * mib), 100, 0, 110);
    BOOST_TEST(given_up == 1);
    BOOST_TEST(kept == static_cast<int>(PinnedBlocks::trial));
    BOOST_TEST(use(kind_of(mib), 1) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_context_that_ends_has_no_blocks, Program) {
    use(kind_of(mib, 1), 3);
    use(kind_of(mib, 2), 3);
    blocks.forget(1);
    BOOST_TEST(blocks.bytes() == mib);
    BOOST_TEST(use(kind_of(mib, 1), 1) == 0);
    BOOST_TEST(use(kind_of(mib, 2), 1) == 1);
    PinnedBlock any;
    BOOST_TEST(blocks.remove_any(any));
    BOOST_TEST(!blocks.remove_any(any));
}

BOOST_FIXTURE_TEST_CASE(more_kinds_than_are_known_displace_the_one_seen_longest_ago, Program) {
    use(kind_of(1), 2);
    for (std::uint64_t i = 0; i < PinnedBlocks::most_kinds; ++i)
        use(kind_of(2 + i), 1);
    BOOST_TEST(use(kind_of(1), 1) == 0);
    BOOST_TEST(use(kind_of(1), 3) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

#include "policy/prefetch_plan.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <vector>

BOOST_AUTO_TEST_SUITE(act_foresight)

using namespace umadvisor::policy;

namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint64_t base = 0x7000'0000'0000;

using Expected = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

Expected predicted(const LaunchSequence& sequence, std::size_t most = 100) {
    Expected found;
    sequence.predict([&](std::uint64_t allocation, std::uint32_t launches) {
        found.emplace_back(allocation, launches);
        return found.size() < most;
    });
    return found;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_does_not_come_true_is_not_believed_for_a_while) {
    Trust trust;
    const auto launch = [&](bool met) {
        const bool earned = trust.earned(met);
        if (earned)
            trust.expect(base);
        return earned;
    };
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(launch(i % 4 != 1)); // wrong now and then
    unsigned believed = 0, doubted = 0;
    while (believed < 1000 && launch(false))
        ++believed;
    while (doubted < 1000 && !launch(false))
        ++doubted;
    BOOST_TEST(believed == 3u);
    BOOST_TEST(doubted == Trust::rest - 2);
    BOOST_TEST(launch(true));
}

struct Sequence {
    void launch(std::vector<std::uint64_t> reached) { sequence->add(reached); }
    std::unique_ptr<LaunchSequence> sequence = std::make_unique<LaunchSequence>();
};

BOOST_FIXTURE_TEST_SUITE(launch_sequence, Sequence)

BOOST_AUTO_TEST_CASE(what_never_was_before_foretells_nothing) {
    BOOST_TEST(predicted(*sequence).empty());
    launch({1});
    launch({2});
    BOOST_TEST(predicted(*sequence).empty());
}

BOOST_AUTO_TEST_CASE(a_loop_goes_on_as_it_went) {
    launch({1, 2});
    launch({3});
    launch({4});
    launch({1, 2});
    BOOST_TEST((predicted(*sequence) == Expected{{3, 1}, {4, 2}, {1, 3}, {2, 3}}));
    launch({3});
    BOOST_TEST((predicted(*sequence) == Expected{{4, 1}, {1, 2}, {2, 2}, {3, 3}}));
}

BOOST_AUTO_TEST_CASE(the_same_launch_means_what_went_before_it) {
    for (int round = 0; round < 3; ++round) // 1 is followed by 2 and by 3 in turn
        for (const std::uint64_t each : {9, 1, 2, 8, 1, 3})
            launch({each});
    launch({9});
    launch({1});
    BOOST_TEST((predicted(*sequence, 1) == Expected{{2, 1}}));
    launch({2});
    launch({8});
    launch({1});
    BOOST_TEST((predicted(*sequence, 1) == Expected{{3, 1}}));
}

BOOST_AUTO_TEST_CASE(a_surprise_is_got_over) {
    for (int round = 0; round < 2; ++round)
        for (const std::uint64_t each : {1, 2, 3})
            launch({each});
    launch({7});
    BOOST_TEST(predicted(*sequence).empty());
    launch({1});
    BOOST_TEST((predicted(*sequence, 2) == Expected{{2, 1}, {3, 2}}));
}

BOOST_AUTO_TEST_CASE(it_never_grows_and_goes_on_after_it_was_full) {
    for (std::uint64_t each = 1; each < 20000; ++each)
        launch({each, each + 1, each + 2});
    for (int round = 0; round < 2; ++round)
        for (const std::uint64_t each : {1, 2, 3})
            launch({each});
    BOOST_TEST((predicted(*sequence, 2) == Expected{{1, 1}, {2, 2}}));
    for (int i = 0; i < 10000; ++i)
        launch({5});
    BOOST_TEST((predicted(*sequence, 1) == Expected{{5, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(eviction)

struct Candidates {
    void add(std::uint64_t id, std::vector<BlockState> blocks, std::uint64_t last_use) {
        states.push_back(std::make_unique<std::vector<BlockState>>(std::move(blocks)));
        residents.push_back({{id, base + id * 64 * mib, states.back()->size() * 2 * mib, *states.back()},
                             LaunchSequence::unknown,
                             last_use});
    }
    std::vector<std::uint64_t> order(std::uint64_t bytes) {
        plan_eviction(residents, bytes, plan);
        std::vector<std::uint64_t> ids;
        for (std::uint32_t i = 0; i < plan.count; ++i)
            ids.push_back(plan.ranges[i].allocation);
        return ids;
    }
    std::vector<std::unique_ptr<std::vector<BlockState>>> states;
    std::vector<Resident> residents;
    PrefetchPlan plan;
};

constexpr auto device = BlockState::device, host = BlockState::host;

BOOST_FIXTURE_TEST_CASE(the_latest_next_use_goes_first, Candidates) {
    add(1, {device}, 1);
    add(2, {device}, 2);
    add(3, {device}, 3);
    LaunchSequence sequence;
    for (int round = 0; round < 2; ++round)
        for (const std::uint64_t id : {1, 2, 3})
            sequence.add(std::vector<std::uint64_t>{base + id * 64 * mib});
    sequence.add(std::vector<std::uint64_t>{base + 64 * mib});
    predict_next_uses(residents, sequence); // next: 2, 3, 1
    BOOST_TEST((order(6 * mib) == std::vector<std::uint64_t>{1, 3, 2}));
}

BOOST_FIXTURE_TEST_CASE(what_nobody_expects_goes_before_that_by_age, Candidates) {
    add(1, {device}, 7);
    add(2, {device}, 5);
    add(3, {device}, 6);
    residents[0].next_use = 100;
    BOOST_TEST((order(6 * mib) == std::vector<std::uint64_t>{2, 3, 1}));
}

BOOST_FIXTURE_TEST_CASE(no_more_goes_than_is_asked_for_and_from_the_end, Candidates) {
    add(1, {device, device, host, device, device, device}, 1);
    BOOST_TEST(order(4 * mib).size() == 1u);
    BOOST_TEST(plan.ranges[0].address == base + 64 * mib + 8 * mib);
    BOOST_TEST(plan.bytes == 4 * mib);
    BOOST_TEST(order(7 * mib).size() == 2u); // at a block's end
    BOOST_TEST(plan.ranges[1].address == base + 64 * mib + 2 * mib);
    BOOST_TEST(plan.bytes == 8 * mib);
    order(100 * mib);
    BOOST_TEST(plan.bytes == 10 * mib);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

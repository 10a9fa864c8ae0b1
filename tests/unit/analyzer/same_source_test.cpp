/// UMA-114 and UMA-115: bytes that the device had before, or has elsewhere, are uploaded from the host.
#include "transfers.hpp"

BOOST_FIXTURE_TEST_SUITE(analyzer_same_source, umadvisor::test::Transfers,
                         *umadvisor::test::on_rules("UMA-114 UMA-115"))

using namespace umadvisor;
using namespace umadvisor::test;

BOOST_AUTO_TEST_CASE(the_same_start_for_each_round) {
    rounds(10, [&](std::uint64_t) { upload_and_use(1, 7); });
    const Finding finding = one("UMA-114");
    BOOST_TEST(finding.stack == uploading);
    BOOST_TEST(finding.allocation_stack == allocated);
    BOOST_TEST(evidence(finding, "transfers") == 9);
    // Nine copies inside the device, each a call and its bytes at 1.17 TB/s.
    BOOST_TEST(finding.saving_ns == 9 * (copy_ns - 2400 - bytes / 1170.0), roughly);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(a_variable_that_each_launch_may_change) {
    const std::uint64_t variable =
        allocate(bytes, Memory::device, {.symbol = "cuModuleGetGlobal_v2", .id = 5000, .variable = 1});
    rounds(10, [&](std::uint64_t) {
        copy(bytes, copy_ns,
             {.source = Memory::pinned, .stack = uploading, .to = variable, .part = 1, .whole = 7});
        launch(kernel, {other});
    });
    const Finding finding = one("UMA-114");
    BOOST_TEST(evidence(finding, "transfers") == 9);
    BOOST_TEST(contains(finding.advice, "upload it once if no kernel writes the variable"), finding.advice);
}

BOOST_AUTO_TEST_CASE(memory_made_anew_for_each_round) {
    rounds(10, [&](std::uint64_t) {
        const auto brief = allocate(bytes, Memory::device);
        copy(bytes, ms, {.source = Memory::pinned, .stack = uploading, .to = brief, .part = 1, .whole = 7});
        launch(kernel, {brief});
        free(brief, 1000, freeing);
    });
    BOOST_TEST(evidence(among(found(), "UMA-114"), "transfers") == 9);
}

BOOST_AUTO_TEST_CASE(unchanged_in_most_rounds) {
    for (std::uint64_t round = 0; round < 60; ++round) {
        upload_and_use(1, round % 4 > 1 ? 0 : round < 56 ? 7 : 100 + round); // one in four is compared
        now += ms;
    }
    const Finding finding = one("UMA-114");
    BOOST_TEST(evidence(finding, "transfers") == 14 + 44 * 14 / 15); // 14 of 15 were equal
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(those_that_were_not_looked_at_are_taken_for_alike_if_most_were) {
    const auto rounds_with = [](Transfers& program, std::uint64_t not_looked_at) {
        program.rounds(12, [&](std::uint64_t round) {
            const bool looked = round > not_looked_at;
            program.upload_and_use(looked ? 1 : 0, looked ? 7 : 0);
        });
        return program.one("UMA-114");
    };
    const Finding finding = rounds_with(*this, 4); // 7 of the 9 others, with the first of all, repeat one
    BOOST_TEST(evidence(finding, "transfers") == 7 + 4 * 7 / 9);
    BOOST_TEST(evidence(finding, "not_looked_at") == 4 * 7 / 9);
    BOOST_TEST(evidence(finding, "compared_in_part") == 0);
    BOOST_TEST((finding.confidence == Confidence::low));
    BOOST_TEST(finding.details.size() == 1u);
    Transfers few;
    BOOST_TEST(evidence(rounds_with(few, 8), "transfers") == 3);
}

BOOST_AUTO_TEST_CASE(many_looks_speak_for_three_times_as_many_transfers) {
    const auto transfers = [](std::uint64_t looks, std::uint64_t others) {
        Transfers program; // its first upload was looked at, too
        program.rounds(looks - 1 + others, [&](std::uint64_t round) {
            const bool looked = round < looks;
            program.upload_and_use(looked ? 1 : 0, looked ? 7 : 0);
        });
        return evidence(program.one("UMA-114"), "transfers");
    };
    BOOST_TEST(transfers(80, 240) == 78 + 240 * 78 / 80); // all but the first two repeat one
    BOOST_TEST(transfers(80, 241) == 78);
    BOOST_TEST(transfers(60, 61) == 58);
}

BOOST_AUTO_TEST_CASE(other_bytes_in_each_round) {
    rounds(10, [&](std::uint64_t round) {
        upload_and_use(round, 100 + round);
        upload_and_use(1, 200 + round); // some bytes are equal
    });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(small_ones_cost_no_more_than_a_copy_inside_the_device) {
    rounds(200, [&](std::uint64_t) {
        copy(4096, 8000, {.source = Memory::pinned, .stack = uploading, .to = table, .part = 1, .whole = 7});
        use();
    });
    nothing_in(of_rule(found(), "UMA-114"));
}

BOOST_AUTO_TEST_CASE(to_two_places) {
    const std::uint64_t second = stack();
    rounds(10, [&](std::uint64_t round) {
        upload(round); // the host has no time to write them in between
        copy(bytes, ms, {.source = Memory::pinned, .stack = second, .to = other, .part = round});
        launch(kernel, {table, other});
    });
    const Finding finding = one("UMA-115");
    BOOST_TEST(finding.stack == second);
    BOOST_TEST(place(finding) == uploading);
    BOOST_TEST(finding.saving_ns == 10 * (1e6 - 2400 - bytes / 1170.0), test::close);
}

BOOST_AUTO_TEST_CASE(two_places_with_time_to_write_the_bytes_anew) {
    rounds(10, [&](std::uint64_t round) {
        upload(round);
        now += ms;
        copy(bytes, ms, {.source = Memory::pinned, .to = other, .part = round});
        launch(kernel, {table, other});
    });
    nothing_in(of_rule(found(), "UMA-115"));
}

BOOST_AUTO_TEST_SUITE_END()

/// UMA-106: the very bytes that are there are uploaded again.
#include "transfers.hpp"

#include <functional>

BOOST_FIXTURE_TEST_SUITE(analyzer_repeated_uploads, umadvisor::test::Transfers,
                         *umadvisor::test::on_rules("UMA-101 UMA-106 UMA-114"))

using namespace umadvisor;
using namespace umadvisor::test;

BOOST_AUTO_TEST_CASE(the_same_bytes_again_and_again) {
    rounds(10, [&](std::uint64_t) {
        upload(1, 7);
        launch(kernel, {other});
    });
    const Finding finding = one("UMA-106");
    BOOST_TEST(finding.stack == uploading);
    BOOST_TEST(finding.allocation_stack == allocated);
    BOOST_TEST(contains(finding.summary, "cudaMemcpy 8 MiB x 9 of the same bytes"));
    BOOST_TEST(evidence(finding, "transfers") == 9);
    BOOST_TEST(finding.saving_ns == 9.0 * copy_ns, roughly);
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_AUTO_TEST_CASE(equal_parts_count_where_the_whole_was_equal_whenever_it_was_compared) {
    for (const std::uint64_t whole : {0, 0, 7, 7, 7, 0, 0})
        upload(1, whole);
    const Finding finding = one("UMA-106");
    BOOST_TEST(evidence(finding, "transfers") == 6);
    BOOST_TEST(evidence(finding, "compared_in_part") == 4);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(equal_parts_alone_say_nothing) {
    rounds(10, [&](std::uint64_t round) { upload(1, round <= 2 ? 7 : 0); }); // the whole was compared once
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(many_places_that_are_equal_say_what_wholes_do) {
    const auto rounds_of = [](std::uint64_t rounds, std::uint64_t places, std::uint64_t changed_in_one_of) {
        Transfers t;
        t.rounds(rounds, [&](std::uint64_t round) {
            const bool changed = round % changed_in_one_of == 0;
            t.upload(1, 0, {.places = places, .places_differ = changed ? 1u : 0u});
            t.launch(t.kernel, {t.other});
        });
        return t.found();
    };
    constexpr std::uint64_t never = 1'000;
    const Finding finding = lone(rounds_of(17, 4, never), "UMA-106");
    BOOST_TEST(evidence(finding, "transfers") == 16);
    BOOST_TEST(evidence(finding, "places") == 64);
    BOOST_TEST((finding.confidence == Confidence::low));
    BOOST_TEST((lone(rounds_of(32, 4, never), "UMA-106").confidence == Confidence::low));
    BOOST_TEST((lone(rounds_of(33, 4, never), "UMA-106").confidence == Confidence::medium));
    nothing_in(rounds_of(16, 4, never));                                            // fewer places
    nothing_in(rounds_of(8, 16, never));                                            // fewer copies
    BOOST_TEST(evidence(lone(rounds_of(40, 4, 20), "UMA-106"), "transfers") == 37); // not the two that differ
    nothing_in(rounds_of(60, 4, 5)); // what is equal by its places may differ elsewhere as often
}

BOOST_AUTO_TEST_CASE(places_of_all_buffers_that_one_call_sends_count_unless_one_differs) {
    const auto rounds_of = [](std::uint64_t differs_in) {
        Transfers t;
        const std::uint64_t second = t.allocate(Transfers::bytes, Memory::device);
        t.upload(998, 0, {.to = second});
        t.launch(t.kernel, {second});
        t.rounds(12, [&](std::uint64_t round) {
            t.upload(1, 0, {.host_range = 1, .places = 4, .places_differ = round == differs_in ? 1u : 0u});
            t.upload(2, 0, {.host_range = 2, .to = second, .host_address = 0x4000'0000, .places = 4});
            t.launch(t.kernel, {t.other});
        });
        return t.found();
    };
    const Finding finding = lone(rounds_of(0), "UMA-106");
    BOOST_TEST(evidence(finding, "transfers") == 22);
    BOOST_TEST(evidence(finding, "places") == 88);
    nothing_in(rounds_of(5));
}

BOOST_AUTO_TEST_CASE(places_say_nothing_where_a_whole_has_differed) {
    rounds(60, [&](std::uint64_t round) { upload(1, round < 3 ? round : 0, {.places = 4}); });
    BOOST_TEST(rules() == "");
}

/// A volume that goes into its array before each launch that draws it.
struct Drawn : Transfers {
    const std::uint64_t array = allocate(bytes, Memory::array);
    void frames(std::uint64_t part_of = 1) {
        rounds(20, [&](std::uint64_t) {
            copy(bytes / part_of, copy_ns / part_of,
                 {.source = Memory::pinned,
                  .destination = Memory::array,
                  .stack = uploading,
                  .height = 64,
                  .to = array,
                  .part = 1,
                  .whole = 7});
            launch(kernel, {other});
        });
    }
};

BOOST_FIXTURE_TEST_CASE(into_an_array, Drawn) {
    frames();
    BOOST_TEST(evidence(one("UMA-106"), "transfers") == 19);
}

BOOST_FIXTURE_TEST_CASE(into_an_array_that_kernels_may_write, Drawn) {
    frames();
    builder.counters[entry("cuSurfObjectCreate", false)] = 1;
    BOOST_TEST(rules() == "");
}

BOOST_FIXTURE_TEST_CASE(into_one_part_or_another_of_an_array, Drawn) {
    frames(2);
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(rows_with_gaps_between_them) {
    const std::uint64_t width = bytes / 4 / 64;
    for (const bool same_places : {true, false}) {
        Transfers t;
        t.rounds(10, [&](std::uint64_t round) {
            t.copy(bytes / 4, copy_ns / 4,
                   {.source = Memory::pinned,
                    .stack = t.uploading,
                    .height = 64,
                    .pitch = same_places || round % 2 == 0 ? 2 * width : 3 * width,
                    .to = t.table,
                    .part = 1,
                    .whole = 7});
            t.launch(t.function("_Z5triadPKfPff"), {t.table, t.other});
        });
        const Found all = t.found();
        BOOST_TEST(rules_of(all) == (same_places ? "UMA-106" : "UMA-114"));
        if (same_places)
            BOOST_TEST(evidence(all.front(), "bytes") == 9.0 * bytes / 4);
    }
}

BOOST_AUTO_TEST_CASE(one_that_differs_in_the_whole_leaves_those_that_were_compared) {
    for (const std::uint64_t whole : {0, 7, 7, 7, 8, 8})
        upload(1, whole);
    BOOST_TEST(evidence(among(found(), "UMA-106"), "transfers") == 3); // and one was overwritten
}

BOOST_AUTO_TEST_CASE(whatever_may_have_written_there_in_between) {
    const std::function<void()> writers[] = {
        [&] { use(); },
        [&] { launch_unknown(); },
        [&] { launch_graph(); },
        [&] { act_on_stream(0, trace::StreamAction::write_value); },
        [&] { pause(); },
        [&] { upload(2, 0, {.height = 4}); }, // rows
        [&] { copy(mib, 1000, {.source = Memory::pinned, .origin = trace::Origin::umadvisor, .to = table}); },
    };
    for (const auto& write : writers)
        rounds(4, [&](std::uint64_t) {
            upload(1, 7);
            write();
        });
    BOOST_TEST(rules() == "UMA-114");
}

BOOST_AUTO_TEST_CASE(the_same_bytes_beside_a_kernel_that_takes_them_as_const) {
    const std::uint64_t reads = function("_Z5triadPKfPff");
    upload(1, 7);
    upload(1, 7); // twice before the first kernel
    rounds(3, [&](std::uint64_t) {
        launch(reads, {table, other});
        upload(1, 7);
    });
    const Finding finding = one("UMA-106");
    BOOST_TEST(evidence(finding, "transfers") == 4);
    BOOST_TEST(finding.saving_ns == 4.0 * copy_ns, roughly);
    Transfers written;
    rounds(4, [&](std::uint64_t) {
        written.upload(1, 7);
        written.launch(written.function("_Z5scalePfPKff"), {written.table, written.other});
    });
    BOOST_TEST(written.rules() == "UMA-114");
}

BOOST_AUTO_TEST_CASE(memory_that_no_parameter_ever_reaches) {
    const auto through_a_pointer = allocate(bytes, Memory::device);
    rounds(10, [&](std::uint64_t) {
        upload(1, 7, {.to = through_a_pointer});
        launch(kernel, {other});
    });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(memory_that_others_reach) {
    call(trace::Ipc(), "cuIpcGetMemHandle");
    rounds(10, [&](std::uint64_t) { upload(1, 7); });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(calls_that_the_trace_lacks) {
    rounds(10, [&](std::uint64_t) { upload(1, 7); });
    builder.dropped[trace::DropReason::size_cap] = 1;
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(pageable_ones_are_not_counted_by_another_rule_too) {
    rounds(10,
           [&](std::uint64_t) { copy(bytes, ms, {.stack = uploading, .to = table, .part = 1, .whole = 7}); });
    one("UMA-106"); // what is left of the copies is one, which is not worth page-locking
}

BOOST_AUTO_TEST_SUITE_END()

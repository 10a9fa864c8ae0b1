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
    BOOST_TEST(contains(finding.summary, "cudaMemcpy 8 MiB x 9 of the very bytes"));
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

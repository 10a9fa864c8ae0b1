/// UMA-303: bytes that are written and written again before anything uses them.
#include "transfers.hpp"

BOOST_FIXTURE_TEST_SUITE(analyzer_unused_transfers, umadvisor::test::Transfers,
                         *umadvisor::test::on_rules("UMA-303"))

using namespace umadvisor;
using namespace umadvisor::test;

BOOST_AUTO_TEST_CASE(overwritten_before_any_use) {
    rounds(10, [&](std::uint64_t round) {
        upload(2 * round);
        upload_and_use(2 * round + 1, 0, {.stack = downloading});
    });
    const Finding finding = one("UMA-303");
    BOOST_TEST(finding.stack == uploading);
    BOOST_TEST(place(finding) == downloading);
    BOOST_TEST(finding.saving_ns == 10.0 * copy_ns, roughly);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(unused_ones_that_were_not_looked_at_are_not_taken_for_repeated_ones) {
    rounds(20, [&](std::uint64_t) {
        upload(0); // overwritten
        upload(1, 7);
        use();
    });
    const Found all = found();
    BOOST_TEST(evidence(among(all, "UMA-303"), "transfers") == 20);
    for (const Finding& finding : all)
        for (const auto& [key, value] : finding.evidence)
            BOOST_TEST(key != "not_looked_at");
}

BOOST_AUTO_TEST_CASE(freed_before_any_use) {
    rounds(4, [&](std::uint64_t) {
        const auto brief = allocate(bytes, Memory::device);
        upload(0, 0, {.to = brief});
        free(brief, 1000, freeing);
    });
    const Finding finding = one("UMA-303");
    BOOST_TEST(finding.saving_ns == 4.0 * copy_ns, roughly);
    BOOST_TEST(finding.places.front().second == freeing);
}

BOOST_AUTO_TEST_CASE(memory_sets_are_priced_by_the_rate_of_the_memory) {
    rounds(100, [&](std::uint64_t round) {
        set(table, bytes, {.stack = setting});
        upload_and_use(round);
    });
    const Finding finding = one("UMA-303");
    BOOST_TEST(finding.stack == setting);
    BOOST_TEST(finding.saving_ns == 100 * 3000.0); // more than 8 MiB at 2.8 TB/s
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(whatever_may_have_used_it) {
    rounds(10, [&](std::uint64_t round) {
        upload_and_use(3 * round);
        upload(3 * round + 1);
        download(0, 0);
        upload(3 * round + 2);
        copy(bytes, 5000, {.source = Memory::device, .from = table, .to = other});
        launch(kernel, {other});
    });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(overwritten_in_part) {
    rounds(10, [&](std::uint64_t round) {
        upload(round);
        copy(bytes / 2, copy_ns / 2, {.source = Memory::pinned, .to = table});
        use();
    });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(memory_of_others_and_variables) {
    const std::uint64_t variable =
        allocate(bytes, Memory::device, {.symbol = "cuModuleGetGlobal_v2", .id = 5000, .variable = 1});
    rounds(10, [&](std::uint64_t) {
        copy(bytes, copy_ns, {.source = Memory::pinned, .to = variable});
        launch(kernel, {other}); // it may read the variable
    });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_SUITE_END()

/// UMA-128: the host downloads again what it got from there before.
#include "transfers.hpp"

BOOST_FIXTURE_TEST_SUITE(analyzer_repeated_downloads, umadvisor::test::Transfers,
                         *umadvisor::test::on_rules("UMA-107 UMA-128"))

using namespace umadvisor;
using namespace umadvisor::test;

BOOST_AUTO_TEST_CASE(what_no_kernel_has_written_since) {
    rounds(10, [&](std::uint64_t) {
        download(1, 7);
        launch(kernel, {other});
    });
    const Finding finding = one("UMA-128");
    BOOST_TEST(finding.stack == downloading);
    BOOST_TEST(evidence(finding, "transfers") == 9);
    BOOST_TEST(finding.saving_ns == 9.0 * copy_ns, roughly);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(equal_parts_of_eight_are_enough_where_no_call_can_have_changed_them) {
    const auto rounds_of = [](std::uint64_t rounds, std::uint64_t differs_in) {
        Transfers t;
        t.rounds(rounds, [&](std::uint64_t round) {
            t.download(1, 0, {.places = 4, .places_differ = round == differs_in ? 1u : 0u});
            t.launch(t.kernel, {t.other});
        });
        return t.found();
    };
    BOOST_TEST(evidence(lone(rounds_of(9, 0), "UMA-128"), "transfers") == 8);
    nothing_in(rounds_of(8, 0));
    nothing_in(rounds_of(10, 5)); // something else has changed them
}

BOOST_AUTO_TEST_CASE(what_a_kernel_may_have_written) {
    rounds(10, [&](std::uint64_t) {
        use();
        download(1, 7);
    });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(what_was_uploaded_in_between) {
    rounds(10, [&](std::uint64_t round) {
        upload(round, 100 + round);
        download(50 + round, 200 + round);
    });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(to_another_place_each_time) {
    const std::uint64_t places[] = {allocate(bytes, Memory::pinned), allocate(bytes, Memory::pinned)};
    rounds(10, [&](std::uint64_t round) { download(1, 7, {.to = places[round % 2]}); });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_SUITE_END()

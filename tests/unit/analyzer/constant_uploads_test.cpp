/// UMA-108: uploads of one value, again and again, that a memory set would write.
#include "transfers.hpp"

BOOST_FIXTURE_TEST_SUITE(analyzer_constant_uploads, umadvisor::test::Transfers,
                         *umadvisor::test::on_rules("UMA-101 UMA-106 UMA-108"))

using namespace umadvisor;
using namespace umadvisor::test;

BOOST_AUTO_TEST_CASE(a_memory_set_would_do) {
    rounds(10, [&](std::uint64_t) { upload_and_use(1, 7, {.value_bytes = 1}); });
    const Finding finding = one("UMA-108");
    BOOST_TEST(finding.advice == "set it on the device: cudaMemset(destination, 0, bytes)");
    // Ten sets, each a call and its bytes at 2.8 TB/s.
    BOOST_TEST(finding.saving_ns == 10 * (copy_ns - 2400 - bytes / 2.8e3), roughly);
    BOOST_TEST(lone(findings_of(*this, machine::Rates{.launch_call_ns = 50'000}), "UMA-108").saving_ns ==
                   10 * (copy_ns - 50'000 - bytes / 2.8e3),
               roughly);
}

BOOST_AUTO_TEST_CASE(parts_count_where_the_whole_was_one_value_whenever_it_was_looked_at) {
    for (const std::uint64_t whole : {7, 7, 0, 0, 0})
        upload_and_use(1, whole, {.value_bytes = 1});
    const Finding finding = one("UMA-108");
    BOOST_TEST(evidence(finding, "transfers") == 5);
    BOOST_TEST(evidence(finding, "compared_in_part") == 3);
    upload_and_use(1, 8); // another is not, though its part is the same
    BOOST_TEST(evidence(one("UMA-108"), "transfers") == 2);
}

BOOST_AUTO_TEST_CASE(parts_alone_say_nothing) {
    rounds(10, [&](std::uint64_t) { upload_and_use(1, 0, {.value_bytes = 1}); });
    BOOST_TEST(rules() == "");
}

BOOST_AUTO_TEST_CASE(many_buffers_of_one_value_that_are_uploaded_once_each) {
    const auto upload_each = [](Transfers& s, std::uint64_t count) {
        s.rounds(count, [&](std::uint64_t) {
            const auto zeros = s.allocate(bytes, Memory::device, s.stack());
            s.copy(bytes, ms,
                   {.stack = s.stack(), .to = zeros, .part = 1, .value_bytes = 1}); // a part is looked at
            s.launch(s.kernel, {zeros});
        });
    };
    upload_each(*this, 15);
    const Found all = found();
    const Finding finding = among(all, "UMA-108");
    BOOST_TEST(evidence(finding, "transfers") == 15);
    BOOST_TEST(evidence(finding, "compared_in_part") == 15);
    BOOST_TEST(finding.places.size() == 14u);
    BOOST_TEST(finding.details.size() == 1u);
    BOOST_TEST(finding.saving_ns == 15 * (1e6 - 2400 - bytes / 2.8e3), roughly);
    nothing_in(of_rule(all, "UMA-101"));
    Transfers few, differs;
    upload_each(few, 3);
    nothing_in(of_rule(few.found(), "UMA-108"));
    upload_each(differs, 15);
    differs.upload_and_use(1, 7, {.value_bytes = 1});
    differs.upload_and_use(1, 8); // the whole of one is no single value, though its part is
    for (const Finding& each : of_rule(differs.found(), "UMA-108"))
        BOOST_TEST(evidence(each, "transfers") == 1);
}

BOOST_AUTO_TEST_CASE(words_are_set_by_another_call) {
    rounds(10, [&](std::uint64_t) { upload_and_use(1, 7, {.value_bytes = 4, .value = 0x3f800000}); });
    BOOST_TEST(contains(one("UMA-108").advice, "cuMemsetD32(destination, 0x3f800000, bytes / 4)"));
}

BOOST_AUTO_TEST_CASE(the_same_value_again_is_a_repeated_upload) {
    rounds(10, [&](std::uint64_t) { upload(1, 7, {.value_bytes = 1}); });
    const Found all = found();
    BOOST_REQUIRE_EQUAL(rules_of(all), "UMA-106 UMA-108");
    BOOST_TEST(evidence(all[0], "transfers") == 9);
    BOOST_TEST(evidence(all[1], "transfers") == 1);
}

BOOST_AUTO_TEST_SUITE_END()

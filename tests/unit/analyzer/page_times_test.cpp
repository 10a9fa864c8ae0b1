/// Times that the page shows: around the longest calls, by stack, after the remedies, and as a difference.
#include "analyzer/reports/html/after.hpp"
#include "analyzer/reports/html/rows.hpp"
#include "analyzer/reports/html/timeline/closeups.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"
#include "analyzer/rules/finding.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <optional>

BOOST_AUTO_TEST_SUITE(analyzer_page_times)

using namespace umadvisor;

/// Calls of 10 ns, one every 100, of which one in the middle takes longer.
struct ManyCalls {
    static constexpr std::uint32_t count = 200'000, longest = 77'777;
    html::Closeups closeups{1000};
    ManyCalls() {
        for (std::uint32_t i = 0; i < count; ++i) {
            const double begin = i * 100.0, end = begin + (i == longest ? 50 : 10);
            closeups.add({begin, end, 0, 0, i, html::Sight::Of::calls});
            if (i == 0 || i == longest)
                closeups.longest(ids::StackId(7), begin, end);
        }
    }
};

BOOST_FIXTURE_TEST_CASE(a_closeup_has_all_that_is_around_the_longest_call, ManyCalls) {
    const double begin = ManyCalls::longest * 100.0;
    closeups.add({begin - 5000, begin + 5000, 0, 1, 1, html::Sight::Of::stay}); // is added when the stay ends
    closeups.add({0, begin - 5000, 0, 1, 2, html::Sight::Of::stay});
    const std::map<ids::StackId, html::Closeup> found = closeups.finish();
    BOOST_REQUIRE_EQUAL(found.size(), 1u);
    const html::Closeup& closeup = found.at(ids::StackId(7));
    BOOST_TEST((closeup.begin == begin && closeup.end == begin + 50));
    BOOST_TEST((closeup.from == begin - 1000 && closeup.until == begin + 1050));
    std::vector<std::uint32_t> calls;
    std::size_t stays = 0;
    for (const html::Sight& sight : closeup.sights)
        if (sight.of == html::Sight::Of::calls)
            calls.push_back(sight.number);
        else
            ++stays;
    BOOST_TEST(stays == 1);
    BOOST_REQUIRE_EQUAL(calls.size(), 21u);
    for (std::uint32_t i = 0; i < calls.size(); ++i)
        BOOST_TEST(calls[i] == ManyCalls::longest - 10 + i);
}

BOOST_AUTO_TEST_CASE(a_closeup_is_narrower_where_too_much_happens) {
    html::Closeups closeups(1e6);
    for (std::uint32_t i = 0; i < 15'000; ++i)
        closeups.add({i * 10.0, i * 10.0 + 5, 0, 0, i, html::Sight::Of::calls});
    closeups.longest(ids::StackId(7), 100'000, 100'005);
    const std::map<ids::StackId, html::Closeup> found = closeups.finish();
    const html::Closeup& closeup = found.at(ids::StackId(7));
    BOOST_TEST(closeup.sights.size() <= html::Closeups::most);
    BOOST_TEST((closeup.from < 100'000 && closeup.until > 100'005));
    BOOST_TEST(static_cast<double>(closeup.sights.size()) >= (closeup.until - closeup.from) / 10 - 1);
}

BOOST_AUTO_TEST_CASE(page_faults_take_their_time_from_the_stacks_that_had_them) {
    using html::Cause;
    for (const std::size_t most : {std::size_t{100}, std::size_t{2}}) { // more pieces are binned
        html::PieceRow row({0, 1000}, html::causes, 10, most);
        html::StackTimes times;
        const auto add = [&](double begin, double end, Cause cause, std::uint32_t name) {
            row.add({begin, end, static_cast<std::uint32_t>(cause), name});
            times.add(cause, name, end - begin);
        };
        add(0, 300, Cause::code, 0);
        add(300, 700, Cause::kernels, 1);
        add(700, 900, Cause::copies, 2);
        add(900, 1000, Cause::code, 0);
        const auto number = [](Cause cause) { return static_cast<std::uint32_t>(cause); };
        row.overlay({number(Cause::kernels), number(Cause::copies)}, number(Cause::device_faults),
                    {{300, 500}});
        row.overlay({number(Cause::code)}, number(Cause::host_faults), {{0, 100}});
        times.take_faults(row, {{7, 30}, {8, 10}});
        const auto check = [](double found, double expected) { BOOST_TEST(std::abs(found - expected) < 0.01); };
        const auto ns = [&](Cause cause, std::size_t name) { return times.by_name()[name][number(cause)]; };
        check(ns(Cause::device_faults, 1), 200);
        check(ns(Cause::kernels, 1), 200);
        check(ns(Cause::copies, 2), 200);
        check(ns(Cause::code, 0), 300);
        check(ns(Cause::host_faults, 0), 100);
        check(times.host_faults().at(7), 75);
        check(times.host_faults().at(8), 25);
    }
}

BOOST_AUTO_TEST_CASE(page_faults_are_the_first_that_remedies_take_away) {
    html::Timeline timeline{.span = {0, 1000}};
    timeline.cause_of[5] = html::Cause::calls;
    timeline.threads.emplace_back(new html::ThreadRow{1, html::PieceRow(timeline.span, html::causes, 1000, 100),
                                                      html::PieceRow(timeline.span, 1, 1000, 100)});
    const auto was = [&](html::Cause cause, double begin, double end) {
        timeline.threads[0]->causes.add({begin, end, static_cast<std::uint32_t>(cause), 0});
    };
    was(html::Cause::code, 0, 100);
    was(html::Cause::host_faults, 100, 300);
    was(html::Cause::kernels, 300, 400);
    was(html::Cause::device_faults, 400, 700);
    was(html::Cause::copies, 700, 800);
    was(html::Cause::calls, 800, 900);
    timeline::Spared spared;
    spared.threads.resize(1);
    spared.threads[0].stretches = {{0, 300, 150, 0, 0}, {300, 700, 0, 350, 0}, {700, 900, 10, 0, 0}};
    spared.threads[0].own_ns[5] = 30;
    spared.threads[0].added_ns = 20;
    const html::After after = html::after(timeline, spared);
    const auto is = [&after](html::Cause cause) { return after.where[static_cast<std::size_t>(cause)]; };
    BOOST_TEST(std::abs(is(html::Cause::code) - 90) < 0.1);
    BOOST_TEST(std::abs(is(html::Cause::host_faults) - 50) < 0.1);
    BOOST_TEST(std::abs(is(html::Cause::kernels) - 50) < 0.1);
    BOOST_TEST(std::abs(is(html::Cause::device_faults)) < 0.1);
    BOOST_TEST(std::abs(is(html::Cause::copies) - 100) < 0.1);
    BOOST_TEST(std::abs(is(html::Cause::calls) - 70) < 0.1);
    BOOST_TEST(after.added_ns == 20);
    BOOST_TEST(std::abs(after.sum() - 380) < 0.1);
}

BOOST_AUTO_TEST_CASE(a_saving_is_a_difference_only_where_its_basis_says_so) {
    rules::Finding finding;
    finding.basis = "time of these calls (waits for the device excluded) minus that of one round";
    finding.evidence = {
        {"alloc_time_ns", 30.0}, {"free_time_ns", 25.0}, {"free_wait_ns", 5.0}, {"mean_lifetime_ns", 90.0}};
    finding.price_ns = 42;
    finding.saving_ns = 40; // the replay gains less
    const std::optional<rules::Difference> difference = rules::difference(finding);
    BOOST_REQUIRE(difference.has_value());
    BOOST_TEST(difference->spent_ns == 50);
    BOOST_TEST(difference->left_ns == 8);
    finding.price_ns = 60; // more than the calls take: it has other times in it
    BOOST_TEST(!rules::difference(finding).has_value());
    finding.price_ns = 42;
    finding.basis = "replay of the run without these waits";
    BOOST_TEST(!rules::difference(finding).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

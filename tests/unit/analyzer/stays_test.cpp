#include "managed_life.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(analyzer_stays)

using namespace umadvisor;
using namespace umadvisor::test;
using managed::Stay;

namespace {

/// "host populated, device 4194304 by fault, ..."
std::string text(const managed::Stays& stays) {
    std::string text;
    for (const Stay& stay : stays.list()) {
        text += text.empty() ? "" : ", ";
        text += stay.on_device ? "device" : "host";
        if (stay.populated)
            text += " populated";
        if (stay.by_fault != 0)
            text += " " + std::to_string(stay.by_fault) + " by fault";
        if (stay.by_prefetch != 0)
            text += " " + std::to_string(stay.by_prefetch) + " by prefetch";
    }
    return text;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(what_the_host_filled_is_pulled_over_and_taken_back, Life) {
    fill().device_round().host_fault(0, false, 2).totals(4 << 20).look(4 << 20);
    BOOST_TEST(text(stays()) == "host populated, device 4194304 by fault, host 4194304 by fault");
    const Stay& device = stays().list()[1];
    BOOST_TEST(device.launches == 1u);
    BOOST_TEST(device.kernel.function == 7u);
    BOOST_TEST(stays().list()[2].code == 90u);
}

BOOST_FIXTURE_TEST_CASE(a_kernel_that_uses_it_first_populates_it, Life) {
    look(0).device_round().device_round();
    BOOST_TEST(text(stays()) == "device populated");
    BOOST_TEST(stays().list()[0].launches == 2u);
}

BOOST_FIXTURE_TEST_CASE(launches_are_those_of_the_stream_with_the_most, Life) {
    look(0).launch(1).launch(2).launch(1).launch(2).launch(2).wait().look_after(0);
    BOOST_TEST(stays().list()[0].launches == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_prefetch_under_way_is_no_fault, Life) {
    fill().to_device().look(4 << 20).device_round(); // the look has still met it on the host
    BOOST_TEST(text(stays()) == "host populated, device 4194304 by prefetch");
}

BOOST_FIXTURE_TEST_CASE(what_the_prefetch_left_out_came_by_faults, Life) {
    fill().to_device(0, 2 << 20).look(2 << 20).device_round();
    BOOST_TEST(text(stays()) == "host populated, device 2097152 by fault 2097152 by prefetch");
}

BOOST_FIXTURE_TEST_CASE(what_stays_where_it_is_was_reached_from_afar, Life) {
    fill().launch().launch().launch().wait().look_after(4 << 20);
    BOOST_TEST(text(stays()) == "host populated");
    BOOST_TEST(stays().list()[0].remote_launches == 3u);
}

BOOST_FIXTURE_TEST_CASE(pages_that_nobody_had_are_no_return, Life) {
    look(0).device_round().host_fault(1 << 20, true).totals(0).look(4096);
    BOOST_TEST(text(stays()) == "device populated, host");
}

BOOST_FIXTURE_TEST_CASE(faults_are_put_where_they_belong_however_late_they_are_told, Life) {
    look(0).device_round().totals(0).totals(1 << 16).look(1 << 16).device_round();
    late(5, {.kind = managed::UseKind::host_fault, .bytes = 4096, .place = ids::StackId(91)});
    BOOST_TEST(text(stays()) == "device populated, host 65536 by fault, device 65536 by fault");
    BOOST_TEST(stays().list()[1].code == 91u);
}

BOOST_FIXTURE_TEST_CASE(where_nobody_looked_what_came_back_had_been_pulled_over, Life) {
    fill();
    for (int round = 0; round < 2; ++round)
        launch().wait().host_fault(0, false, 2).totals(4 << 20);
    BOOST_TEST(text(stays()) == "host populated, device 4194304 by fault, host 4194304 by fault, "
                                "device 4194304 by fault, host 4194304 by fault");
    Life seen; // a look knows better
    seen.fill().launch().wait().host_fault(0, false, 2).totals(4 << 20).look(4 << 20);
    seen.launch().wait().look_after(3 << 20).host_fault(0, false, 2).totals(2 << 20);
    BOOST_TEST(text(seen.stays()) == "host populated, device 4194304 by fault, host 4194304 by fault, "
                                     "device 1048576 by fault, host 2097152 by fault");
}

BOOST_FIXTURE_TEST_CASE(without_faults_a_look_tells_of_the_return, Life) {
    terms.faults_known = false;
    look(0).device_round().look(2 << 20).device_round();
    BOOST_TEST(text(stays()) == "device populated, host 2097152 by fault, device 2097152 by fault");
}

BOOST_AUTO_TEST_CASE(without_faults_a_look_tells_of_the_return_after_a_prefetch_too) {
    Life life, under_way;
    life.terms.faults_known = under_way.terms.faults_known = false;
    life.look(4 << 20).to_device().wait().look(4 << 20);
    BOOST_TEST(text(life.stays()) == "host populated, device 4194304 by prefetch, host 4194304 by fault");
    under_way.look(4 << 20).to_device().look(4 << 20);
    BOOST_TEST(text(under_way.stays()) == "host populated, device 4194304 by prefetch");
}

BOOST_FIXTURE_TEST_CASE(looks_before_launches_alone_tell_of_every_pull_and_return, Life) {
    terms.faults_known = false;
    for (int i = 0; i < 3; ++i)
        look(4 << 20).launch().wait().look(0).launch().wait();
    BOOST_TEST(text(stays()) == "host populated, device 4194304 by fault, host 4194304 by fault, "
                                "device 4194304 by fault, host 4194304 by fault, device 4194304 by fault");
}

BOOST_FIXTURE_TEST_CASE(what_a_kernel_has_populated_returns_whoever_looks, Life) {
    terms.faults_known = false;
    look(0).launch().wait().look(4 << 20).device_round();
    BOOST_TEST(text(stays()) == "device populated, host 4194304 by fault, device 4194304 by fault");
}

BOOST_FIXTURE_TEST_CASE(where_the_first_look_is_late_it_tells_what_there_was_to_pull, Life) {
    terms.faults_known = false;
    launch().wait().look(4 << 20).device_round().look(4 << 20).device_round();
    BOOST_TEST(text(stays()) == "device 4194304 by fault, host 4194304 by fault, device 4194304 by fault");
}

BOOST_AUTO_TEST_CASE(what_comes_piece_by_piece_adds_up) {
    Life life, prefetched;
    life.fill();
    for (std::uint64_t left = 3; left != 0; --left)
        life.launch().wait().look_after(left << 20);
    BOOST_TEST(text(life.stays()) == "host populated, device 3145728 by fault");
    BOOST_TEST(life.stays().list()[1].launches == 3u);
    prefetched.fill().launch().wait().look_after(3 << 20).to_device().launch().wait().look_after(0);
    BOOST_TEST(text(prefetched.stays()) == "host populated, device 1048576 by fault");
}

BOOST_FIXTURE_TEST_CASE(without_faults_what_comes_piece_by_piece_adds_up, Life) {
    terms.faults_known = false;
    look(4 << 20).launch().wait().look_after(3 << 20).launch().wait().look_after(2 << 20);
    look(2 << 20).launch().wait().look(1 << 20).launch().wait().look_after(1 << 20);
    look(2 << 20).launch().wait().look(4 << 20);
    BOOST_TEST(text(stays()) == "host populated, device 3145728 by fault, host 3145728 by fault");
}

BOOST_FIXTURE_TEST_CASE(a_look_while_the_kernel_runs_has_not_seen_all_that_goes, Life) {
    look(4 << 20).launch().look(3 << 20).wait().look_after(0);
    BOOST_TEST(text(stays()) == "host populated, device 4194304 by fault");
}

BOOST_FIXTURE_TEST_CASE(with_faults_told_what_came_unasked_was_evicted, Life) {
    look(0).device_round().look(2 << 20);
    BOOST_TEST(text(stays()) == "device populated");
    BOOST_TEST(stays().evicted() == 2u << 20);
}

BOOST_FIXTURE_TEST_CASE(a_prefetch_of_the_other_half_is_not_redundant, Life) {
    fill().to_device(0, 2 << 20).to_device(2 << 20, 2 << 20);
    BOOST_TEST(stays().redundant().calls == 0u);
    BOOST_TEST(text(stays()) == "host populated, device 4194304 by prefetch");
}

BOOST_FIXTURE_TEST_CASE(what_came_in_rounds_that_nobody_looked_at_is_estimated, Life) {
    terms.faults_known = false;
    for (int i = 0; i < 2; ++i)
        look(4 << 20).device_round();
    launch().wait().launch().wait();
    look(4 << 20).device_round();
    BOOST_TEST(stays().list().size() == 6u);
    BOOST_TEST(stays().arrived(true) == 5u * (4 << 20));
    BOOST_TEST(stays().arrived(false) == 4u * (4 << 20));
}

BOOST_FIXTURE_TEST_CASE(of_a_long_history_the_middle_is_left_out, Life) {
    look(0).device_round();
    for (int i = 0; i < 500; ++i)
        host_fault().look(1 << 16, i == 0 ? 5 : 0).device_round();
    BOOST_TEST(stays().list().size() == 2 * managed::Stays::most_kept);
    BOOST_TEST(stays().left_out() == 1001 - 2 * managed::Stays::most_kept);
    BOOST_TEST(stays().arrived(true) == 500u << 16);
    BOOST_TEST(stays().arrived(false) == 500u << 16);
    BOOST_TEST(stays().list()[1].content == 5u);
    BOOST_TEST(stays().list().back().end == 0u);
}

BOOST_AUTO_TEST_CASE(steps_that_wait_share_a_budget) {
    managed::StepBudget budget{.most = 100};
    {
        managed::Stays first(1 << 20, budget), second(1 << 20, budget);
        for (std::uint64_t i = 0; i < 400; ++i)
            for (managed::Stays* stays : {&first, &second})
                stays->add({.time = i, .kind = managed::UseKind::wait});
        BOOST_TEST(budget.used <= 2 * budget.most);
    }
    BOOST_TEST(budget.used == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

#include "managed_program.hpp"

#include <utility>

BOOST_AUTO_TEST_SUITE(analyzer_remote_atomics, *umadvisor::test::on_rules("UMA-201 UMA-215"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace test::managed_program;

/// A counter in managed memory: the host sets it, a kernel counts, the host reads it.
struct Counter : Program {
    Counter() : Program(4) {
        tell(all_kinds);
        counters(0, 0);
    }
    void atomic() { fault(Kind::device_fault, address_of(id), {.access = trace::FaultAccess::atomic}); }
    void remote_map() {
        trace::ManagedEvent record{.kind = Kind::remote_map,
                                   .address = address_of(id),
                                   .bytes = 4096,
                                   .to = device,
                                   .cause = static_cast<std::uint64_t>(trace::RemoteMapCause::thrashing)};
        event(record);
    }
    void look_at_page(bool on_host, trace::SampleMoment moment) { look(on_host ? 4096 : 0, moment); }
    void count(bool stays_on_host, std::uint64_t nanoseconds, bool sampled = true) {
        if (std::exchange(on_device, !stays_on_host)) // it sets the counter
            fault(Kind::host_fault, address_of(id), 0, touched);
        look_at_page(true, before);
        sample += sampled;
        launch(kernel, {id}, sampled ? sample : 0, launched);
        wait();
        look_at_page(stays_on_host, after);
        if (sampled)
            device_time(sample, nanoseconds);
    }
    std::uint64_t sample = 0;
    bool on_device = true;
};

/// A kernel that takes `near_ns` with its counter on the device and `far_ns` with it on the host.
void rounds(Counter& p, std::uint64_t near_ns, std::uint64_t far_ns) {
    for (int i = 0; i < 3; ++i)
        p.count(false, near_ns);
    for (int i = 0; i < 5; ++i)
        p.count(true, far_ns);
    for (int i = 0; i < 75; ++i)
        p.count(true, 0, false);
}

BOOST_AUTO_TEST_CASE(a_counter_that_stays_on_the_host) {
    Counter p;
    p.atomic();
    p.remote_map();
    rounds(p, 200'000, 1'700'000);
    const Finding finding = lone(p, "UMA-215"); // what moved for it is a part of it
    BOOST_TEST(finding.rule->name == "remote-atomics");
    BOOST_TEST(evidence(finding, "launches") == 80.0);
    BOOST_TEST(evidence(finding, "atomic_faults") == 1.0);
    BOOST_TEST(finding.saving_ns == 80 * (1.5e6 - machine::Rates{}.small_copy_ns), about);
    BOOST_TEST(finding.stack == p.launched);
    BOOST_TEST(place(finding) == p.touched);
    BOOST_TEST(!finding.parts.empty());
    BOOST_TEST(contains(finding.advice, "a __device__ variable"));
    BOOST_TEST(lacks(finding.advice, "SetPreferredLocation"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(what_the_driver_mapped_is_enough_atomics_are_enough) {
    Counter mapped, atomics, neither;
    mapped.remote_map();
    atomics.atomic();
    for (Counter* const p : {&mapped, &atomics, &neither})
        rounds(*p, 200'000, 1'700'000);
    lone(mapped, "UMA-215");
    lone(atomics, "UMA-215");
    nothing_in(of_rule(findings_of(neither), "UMA-215"));
}

BOOST_AUTO_TEST_CASE(a_flag_that_launches_read_from_afar_at_no_cost) {
    const auto told = [](std::uint64_t near_ns, std::uint64_t far_ns) {
        Counter p;
        p.remote_map();
        rounds(p, near_ns, far_ns);
        return tells(findings_of(p), "UMA-215");
    };
    BOOST_TEST(told(200'000, 1'700'000));
    BOOST_TEST(!told(200'000, 205'000));
    BOOST_TEST(!told(1'700'000, 200'000));
}

/// It may have more to do later.
BOOST_AUTO_TEST_CASE(a_single_launch_to_compare_with_has_to_be_far_faster) {
    const auto told = [](std::uint64_t near_ns, bool atomics) {
        Counter p;
        p.remote_map();
        if (atomics)
            p.atomic();
        p.count(false, near_ns);
        for (int i = 0; i < 80; ++i)
            p.count(true, 1'700'000);
        return tells(findings_of(p), "UMA-215");
    };
    BOOST_TEST(!told(200'000, false));
    BOOST_TEST(told(200'000, true));
    BOOST_TEST(told(100'000, false));
}

/// Launches that go there always: nothing tells what they would take otherwise.
BOOST_FIXTURE_TEST_CASE(nothing_is_said_without_a_launch_to_compare_with, Counter) {
    remote_map();
    for (int i = 0; i < 80; ++i)
        count(true, 1'700'000);
    BOOST_TEST(!tells(findings_of(*this), "UMA-215"));
}

BOOST_AUTO_TEST_CASE(times_that_overlap_decide_nothing) {
    Counter p;
    p.remote_map();
    p.count(false, 2'000'000); // as slow as the slowest from afar
    rounds(p, 200'000, 1'700'000);
    BOOST_TEST(!tells(findings_of(p), "UMA-215"));
}

/// The memory may move while a kernel runs.
BOOST_AUTO_TEST_CASE(one_time_in_the_wrong_place_decides_nothing) {
    Counter p;
    p.remote_map();
    p.count(false, 2'000'000);
    p.count(true, 200'000);
    for (int i = 0; i < 2; ++i)
        rounds(p, 200'000, 1'700'000);
    BOOST_TEST(tells(findings_of(p), "UMA-215"));
}

/// The driver leaves the memory on the host since it thrashes.
BOOST_AUTO_TEST_CASE(a_counter_that_thrashes_costs_what_its_launches_take_longer) {
    Counter p;
    p.atomic();
    p.thrash(5);
    rounds(p, 200'000, 1'700'000);
    const Finding finding = lone(p, "UMA-201");
    BOOST_TEST(finding.saving_ns == 80 * (1.5e6 - machine::Rates{}.small_copy_ns), about);
    BOOST_TEST(contains(finding.details.back(), "thrashing window: 5 thrashing events"));
    BOOST_TEST(contains(finding.advice, "a __device__ variable"));
}

BOOST_AUTO_TEST_CASE(thrashing_that_costs_more_than_its_launches_take_longer_keeps_its_price) {
    Counter p;
    p.atomic();
    p.thrash(5);
    for (int i = 0; i < 1000; ++i)
        p.fault(Kind::host_fault, address_of(p.id), 0, p.touched);
    rounds(p, 200'000, 420'000);
    const Finding finding = lone(p, "UMA-201");
    BOOST_TEST(finding.saving_ns > 1000 * 0.9 * machine::Rates{}.host_fault_ns);
    BOOST_TEST(contains(finding.basis, "the host's page faults"));
}

/// Looks are left out while they show the same.
BOOST_FIXTURE_TEST_CASE(launches_between_two_looks_that_agree_are_alike, Counter) {
    remote_map();
    for (int i = 0; i < 3; ++i)
        count(false, 200'000);
    for (int i = 0; i < 5; ++i)
        count(true, 1'700'000);
    launches(40).wait().look(4096, after);
    BOOST_TEST(evidence(lone(*this, "UMA-215"), "launches") == 45.0);
}

BOOST_AUTO_TEST_CASE(counters_in_device_memory_are_fine) {
    Program p(4);
    for (std::uint64_t sample = 1; sample < 12; ++sample)
        p.round(sample).device_time(sample, 10'000);
    nothing_in(p);
}

BOOST_AUTO_TEST_SUITE_END()

/// What is promised of the program's own prefetches.
#include "managed_program.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_prefetch_estimates, *umadvisor::test::on_rules("UMA-211 UMA-213"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace test::managed_program;

BOOST_AUTO_TEST_CASE(of_a_late_prefetch_the_part_that_faults_brought_counts) {
    constexpr std::uint64_t faults = 512; // of 64 KiB each: half of it
    Program p;
    p.tell(all_kinds);
    p.host_fault().filled().counters(0, 0);
    p.to_device().launch().migrate(address_of(p.id), p.bytes, device);
    p.wait(10 * ms).counters(p.bytes, 0, faults);
    p.look(0, after);
    const Finding finding = lone(p, "UMA-211");
    BOOST_TEST(evidence(finding, "bytes_by_faults") == 32.0 * mib);
    BOOST_TEST(finding.saving_ns == 32 * (up_by_faults - up_by_prefetch), about);
}

/// Allocations of one line, each filled by the host, launched on, and prefetched then.
struct LateRounds : Program {
    LateRounds() { tell(all_kinds); }
    std::uint64_t moved = 0, faults = 0;

    void round(bool looked, std::uint64_t left_on_host = 0) {
        if (moved != 0)
            id = managed(bytes, line);
        host_fault().filled().counters(moved, 0, faults);
        launch().to_device().wait(10 * ms);
        moved += bytes;
        faults += 1024;
        counters(moved, 0, faults);
        if (looked)
            look(left_on_host, after);
        free(id);
    }
};

BOOST_FIXTURE_TEST_CASE(late_prefetches_that_nobody_looked_at_are_taken_to_be_alike, LateRounds) {
    round(true);
    for (int i = 0; i < 4; ++i)
        round(false);
    const Finding finding = lone(*this, "UMA-211");
    BOOST_TEST(evidence(finding, "allocations") == 1.0); // that were seen
    BOOST_TEST(evidence(finding, "times_unseen") == 4.0);
    BOOST_TEST(evidence(finding, "bytes_by_faults") == 5 * 64.0 * mib);
    BOOST_TEST(finding.saving_ns == 5 * 64 * (up_by_faults - up_by_prefetch), about);
    BOOST_TEST((finding.confidence == Confidence::low));
    BOOST_TEST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(contains(finding.details.front(), "4 prefetches more"));
}

BOOST_FIXTURE_TEST_CASE(one_prefetch_that_came_in_time_speaks_for_those_that_nobody_looked_at, LateRounds) {
    round(true);
    round(false);
    round(true, bytes / 8 * 7);
    const Finding finding = lone(*this, "UMA-211");
    BOOST_TEST(evidence(finding, "times_unseen") == 0.0);
    BOOST_TEST(evidence(finding, "bytes_by_faults") == 64.0 * mib);
    BOOST_TEST(finding.details.empty());
}

BOOST_FIXTURE_TEST_CASE(without_evidence_no_prefetch_is_late, LateRounds) {
    for (int i = 0; i < 4; ++i)
        round(false);
    BOOST_TEST(lacks(ids_of(*this), "UMA-211"));
}

/// The host raises what a prefetch takes from it each round, and no launch uses it.
BOOST_AUTO_TEST_CASE(an_unused_prefetch_costs_the_way_there_and_the_hosts_writes) {
    constexpr unsigned rounds = 4;
    Program p;
    p.tell(light_kinds);
    p.counters(0, 0);
    p.host_fault();
    for (unsigned round = 1; round <= rounds; ++round) {
        p.to_device().wait().counters(round * p.bytes, (round - 1) * p.bytes, 0, (round - 1) * 32);
        // In each block the driver brings what lies around.
        for (std::uint64_t at = 0; at < p.bytes; at += 2 * mib)
            p.fault(Kind::host_fault, address_of(p.id) + at, 0, p.touched);
        p.now += ms;
    }
    p.to_device().wait().counters((rounds + 1) * p.bytes, rounds * p.bytes, 0, rounds * 32);
    const Finding finding = lone(p, "UMA-213");
    BOOST_TEST(evidence(finding, "bytes_taken_back") == rounds * 64.0 * mib);
    BOOST_TEST(finding.saving_ns == rounds * (64 * (up_by_prefetch + written_by_faults) + 30e3), about);
}

BOOST_AUTO_TEST_SUITE_END()

#include "managed_program.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_managed_findings,
                      *umadvisor::test::on_rules("UMA-201 UMA-202 UMA-203 UMA-204 UMA-205 UMA-206 UMA-207 "
                                                 "UMA-208 UMA-209 UMA-210 UMA-211 UMA-212 UMA-213"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace test::managed_program;

namespace {

/// Nothing is wrong with kernels that come one after the other.
void kernels_alone_are_fine() {
    BOOST_TEST(ids_of(Program().rounds(2)) == "");
}

} // namespace

BOOST_AUTO_TEST_CASE(thrashing) {
    BOOST_TEST(ids_of(Program().bounce(4).thrash(100)) == "UMA-201");
    kernels_alone_are_fine();
    BOOST_TEST(ids_of(Program().thrash(0).bounce(4)) == "UMA-202"); // slowly: no event
}

BOOST_AUTO_TEST_CASE(ping_pong) {
    BOOST_TEST(ids_of(Program().bounce(4)) == "UMA-202");
    BOOST_TEST(ids_of(Program().bounce(0)) == "");
    BOOST_TEST(ids_of(Program().filled().to_device().bounce(1)) == "UMA-205"); // once back is no alternation
    Program by_hand; // both ways, and used on both sides
    by_hand.round();
    for (int i = 0; i < 4; ++i)
        by_hand.to_host().wait().to_device().look(0, before).round();
    BOOST_TEST(ids_of(by_hand) == "");
}

BOOST_AUTO_TEST_CASE(the_hosts_line_is_the_one_with_most_faults) {
    const auto places = [](std::uint64_t first_faults, std::uint64_t other_faults) {
        Program p;
        const std::uint64_t other = p.stack();
        p.bounce(4);
        p.fault(Kind::host_fault, address_of(p.id), first_faults - 1, p.touched);
        p.fault(Kind::host_fault, address_of(p.id), other_faults - 1, other);
        std::string text;
        for (const auto& [what, stack] : lone(p, "UMA-202").places)
            if (what.starts_with("the host"))
                text += what + (stack == ids::StackId(other) ? ": other\n" : ": first\n");
        return text;
    };
    BOOST_TEST(places(10, 90) == "the host touches it here: other\n");
    BOOST_TEST(places(90, 10) == "the host touches it here: first\n");
}

BOOST_AUTO_TEST_CASE(up_to_three_lines_of_the_host_where_none_has_half_of_the_faults) {
    Program p;
    p.bounce(4);
    const std::uint64_t faults[] = {40, 30, 20, 10};
    for (const std::uint64_t each : faults)
        p.fault(Kind::host_fault, address_of(p.id), each - 1, p.stack());
    std::string text;
    for (const auto& [what, stack] : lone(p, "UMA-202").places)
        if (what.starts_with("the host"))
            text += what + "\n";
    BOOST_TEST(text == "the host touches it here (40% of its page faults)\n"
                       "the host touches it here (30% of its page faults)\n"
                       "the host touches it here (20% of its page faults)\n");
}

BOOST_AUTO_TEST_CASE(a_part_that_goes_back_and_forth) {
    const auto advice = [](std::uint64_t part) {
        return lone(Program(16 * mib).bounce(8, part), "UMA-202").advice;
    };
    BOOST_TEST(contains(advice(mib), "only the part that both use: about 1 MiB at a time, not all 16 MiB"));
    BOOST_TEST(lacks(advice(12 * mib), "only the part"), advice(12 * mib));
}

BOOST_AUTO_TEST_CASE(first_touch) {
    BOOST_TEST(ids_of(Program().filled().round()) == "UMA-203");
    BOOST_TEST(ids_of(Program().look(0, before).round()) == "");
    BOOST_TEST(ids_of(Program().filled().to_device().look(0, before).round()) == "");
}

BOOST_AUTO_TEST_CASE(faults_that_pass_while_the_host_works_cost_nothing) {
    const auto first_touch = [](std::uint64_t host_ns, std::uint64_t waited_ns) {
        Program p;
        p.filled().launch(1);
        p.now += host_ns;
        p.wait(waited_ns).device_time(1, 10 * ms);
        return ids_of(p.look(0, after));
    };
    BOOST_TEST(first_touch(0, 10 * ms) == "UMA-203");
    BOOST_TEST(first_touch(50 * ms, 2000) == "");
}

BOOST_AUTO_TEST_CASE(host_populate) {
    const auto filled_once = [](trace::Regularity regularity) {
        return ids_of(Program().filled({.regularity = regularity}).to_device().look(0, before).rounds(2));
    };
    BOOST_TEST(filled_once(trace::Regularity::regular) == "UMA-204");
    BOOST_TEST(filled_once({}) == ""); // no kernel could have made it
    BOOST_TEST(ids_of(Program().look(0, before).rounds(2)) == "");
}

BOOST_AUTO_TEST_CASE(read_back) {
    BOOST_TEST(ids_of(Program().bounce(1)) == ""); // pages new to the host cost more than the way
    BOOST_TEST(ids_of(Program().look(0, before).round().to_host().wait().look(whole, before)) == "");
    BOOST_TEST(ids_of(Program().bounce(1, mib)) == ""); // a little of it
    const Finding finding = lone(Program().filled().to_device().bounce(1), "UMA-205");
    BOOST_TEST(finding.saving_ns == 64 * (down_by_faults - down_by_prefetch), about);
}

BOOST_AUTO_TEST_CASE(false_sharing) {
    constexpr std::uint64_t granule = 64 * kib;
    const Finding finding = lone(Program().bounce(12, granule, 1, 1, 81), "UMA-206");
    BOOST_TEST(finding.saving_ns == 12 * (120e3 + 30e3) + 0.75 * down_by_faults, about);
    BOOST_TEST(contains(finding.advice, "a separate allocation"));
    kernels_alone_are_fine();
    BOOST_TEST(ids_of(Program().bounce(12, granule, 1, 1)) == "UMA-202"); // more than one line of it
}

BOOST_AUTO_TEST_CASE(read_only_bouncing) {
    const Finding finding = lone(Program().runs("_Z3sumPKfi").bounce(4, whole, 5), "UMA-207");
    BOOST_TEST(finding.saving_ns == 4 * 64 * (up_by_faults + down_by_faults), about);
    BOOST_TEST(
        contains(finding.advice,
                 "cudaMemAdvise(ptr, bytes, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, 0})"));
    // No parameter leads to the variables of its module.
    Program digests;
    digests.add_variable().add_digest().runs("_Z3sumPKfPf").bounce(4, whole, 5);
    BOOST_TEST(ids_of(digests) == "UMA-207");
    BOOST_TEST(ids_of(Program().add_variable().runs("_Z3sumPKfPf").bounce(4, whole, 5)) ==
               "UMA-202"); // one of the two is null
    // It writes, and the host writes the same again.
    BOOST_TEST(ids_of(Program().bounce(4, whole, 5)) == "UMA-202");
    kernels_alone_are_fine();
    BOOST_TEST(ids_of(Program().bounce(4, whole, 5, 1)) == "UMA-202"); // somebody writes
}

BOOST_AUTO_TEST_CASE(remote_access) {
    const auto remote = [](int launches, bool advised) {
        Program p;
        if (advised)
            p.prefer_host();
        return findings_of(p.filled().launches(launches).wait().look(whole, after));
    };
    BOOST_TEST(rules_of(remote(5, true)) == "UMA-208");
    BOOST_TEST(rules_of(remote(2, true)) == "");
    BOOST_TEST(rules_of(remote(9, false)) == "");
    const Finding finding = lone(remote(10, true), "UMA-208");
    BOOST_TEST(finding.saving_ns == 10 * 64 * mib / 40.0 - 64 * up_by_prefetch, about);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(remote_access_names_the_advice_that_was_given) {
    const auto remote = [](bool preferred, bool mapped) {
        Program p;
        const auto prefer = p.stack(), map = p.stack();
        if (preferred)
            p.prefer_host(prefer);
        if (mapped)
            p.advise(5, trace::Location::device, map); // SetAccessedBy
        const Finding finding = lone(findings_of(p.filled().launches(5).wait().look(whole, after)), "UMA-208");
        const auto is_place = [&](std::uint64_t stack) {
            return std::ranges::count(finding.places, ids::StackId(stack),
                                      [](const auto& place) { return place.second; }) == 1;
        };
        BOOST_TEST(is_place(prefer) == preferred);
        BOOST_TEST(is_place(map) == mapped);
        return finding.advice.substr(finding.advice.find("remove "));
    };
    const std::string host = "cudaMemAdvise(ptr, bytes, cudaMemAdviseSetPreferredLocation, "
                             "{cudaMemLocationTypeHost, 0})",
                      map = "cudaMemAdvise(ptr, bytes, cudaMemAdviseSetAccessedBy, "
                            "{cudaMemLocationTypeDevice, 0})";
    BOOST_TEST(remote(true, false) == "remove " + host);
    BOOST_TEST(remote(false, true) == "remove " + map);
    BOOST_TEST(remote(true, true) == "remove " + host + " and " + map);
}

BOOST_AUTO_TEST_CASE(oversubscribed) {
    const auto evicted = [](std::uint64_t blocks) {
        Program p;
        p.builder.add(trace::Device{.memory_bytes = 48 * mib});
        p.tell(all_kinds);
        p.look(0, before).launch();
        for (std::uint64_t i = 0; i < blocks; ++i) {
            const std::uint64_t address = address_of(p.id) + i % 32 * 2 * mib;
            p.migrate(address, 2 * mib, host, trace::MigrationCause::eviction);
            p.migrate(address, 2 * mib, device);
            p.now += ms;
        }
        return findings_of(p.wait(10 * ms));
    };
    const Finding finding = lone(evicted(16), "UMA-209");
    BOOST_TEST(finding.saving_ns == 32 * (up_by_faults - up_by_prefetch) - 16 * 2.7e3, about);
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(finding.details.front() ==
               "the program held up to 64 MiB of managed and device memory; the device has 48 MiB");
    BOOST_TEST(rules_of(evicted(0)) == "");
    // As much goes to the host, but since the host has asked for it.
    Program asked;
    asked.tell(all_kinds);
    asked.look(0, before).launch().migrate(address_of(asked.id), 32 * mib, host);
    BOOST_TEST(ids_of(asked.wait()) == "");
}

BOOST_AUTO_TEST_CASE(prefetch_ping_pong) {
    const auto there_and_back = [](Program& p, bool host_waits, bool host_works) {
        p.look(0, before).round();
        for (unsigned sample = 1; sample <= 3; ++sample) {
            p.to_host();
            if (host_waits)
                p.wait();
            p.to_device().look(0, before);
            p.now -= host_works ? 0 : 10 * ms;
            p.launch(sample).wait(10 * ms).device_time(sample, host_works ? 10 * ms : 5 * ms);
            p.look(0, after);
        }
        return findings_of(p);
    };
    Program p, works, waits;
    const Finding finding = lone(there_and_back(p, false, false), "UMA-210"); // the host never waits for it
    BOOST_TEST(finding.stack == p.prefetched);
    BOOST_TEST(finding.saving_ns == 3 * 64 * (up_by_prefetch + down_by_prefetch), about);
    nothing_in(there_and_back(works, false, true)); // both are done before anybody needs them to be
    nothing_in(there_and_back(waits, true, false));
    kernels_alone_are_fine();
}

BOOST_FIXTURE_TEST_CASE(late_prefetch, Program) {
    const Finding finding = lone(filled().launch().to_device().wait(10 * ms).look(0, after), "UMA-211");
    BOOST_TEST(finding.stack == prefetched);
    BOOST_TEST(place(finding) == launched);
    BOOST_TEST(finding.places.front().first == "scale is launched here");
    BOOST_TEST(finding.saving_ns == 64 * (up_by_faults - up_by_prefetch), about); // all came by faults
    BOOST_TEST(contains(finding.advice, "cudaStreamWaitEvent"));
    BOOST_TEST(ids_of(Program().filled().to_device().round()) == "");
    // The prefetch brings the next part.
    Program next;
    next.filled().to_device().launch().to_device(whole / 2).wait(10 * ms).look(0, after);
    BOOST_TEST(ids_of(next) == "");
}

BOOST_AUTO_TEST_CASE(redundant_prefetch) {
    const auto again = [](Program& p, int times) {
        p.look(0, before).round();
        for (int i = 0; i < times; ++i)
            p.to_device().round();
        return findings_of(p);
    };
    Program p, never, once(1024 * mib);
    const Finding finding = lone(again(p, 8), "UMA-212");
    BOOST_TEST(finding.stack == p.prefetched);
    BOOST_TEST(finding.saving_ns == 8 * (1800 + 32 * 900.0), about);
    nothing_in(again(never, 0));
    nothing_in(again(once, 1)); // may be caution
}

BOOST_AUTO_TEST_CASE(unused_prefetch) {
    const Finding back_by_hand = lone(Program().filled().to_device().wait().to_host().wait(), "UMA-213");
    BOOST_TEST(back_by_hand.saving_ns == 64 * (up_by_prefetch + down_by_prefetch), about);
    const Finding taken_back = lone(Program().filled().to_device().wait().look(whole, before), "UMA-213");
    BOOST_TEST(taken_back.saving_ns == 64 * (up_by_prefetch + down_by_faults), about);
    BOOST_TEST(ids_of(Program().filled().wait()) == "");
    Program used;
    used.filled().to_device().look(0, before).round().to_host().wait();
    BOOST_TEST(ids_of(used) == "");
}

BOOST_AUTO_TEST_SUITE_END()

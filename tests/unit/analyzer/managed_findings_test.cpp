#include "managed_program.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_managed_findings)

using namespace umadvisor;
using namespace test::managed_program;
using test::mib;
using test::ms;

BOOST_AUTO_TEST_CASE(thrashing) {
    BOOST_TEST(ids([](Program& p) {
                   p.bounce(4, p.bytes);
                   p.thrash(100);
               }) == "UMA-201");
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.thrash(0);
                   p.bounce(4, p.bytes);
               }) == "UMA-202"); // slowly: no event
}

BOOST_AUTO_TEST_CASE(ping_pong) {
    BOOST_TEST(ids([](Program& p) { p.bounce(4, p.bytes); }) == "UMA-202");
    BOOST_TEST(ids([](Program& p) { p.bounce(0, p.bytes); }) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.bounce(1, p.bytes);
               }) == "UMA-205"); // once back is no alternation
    // By hand both ways, and used on both sides.
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   for (int i = 0; i < 4; ++i) {
                       p.to_host();
                       p.wait();
                       p.to_device();
                       p.look(0, before);
                       p.round();
                   }
               }) == "");
}

BOOST_AUTO_TEST_CASE(a_part_that_goes_back_and_forth) {
    const auto advice = [](std::uint64_t part) {
        Program p(16 * mib);
        p.look(0, before);
        p.round();
        for (int i = 0; i < 8; ++i) {
            p.look(part, before);
            p.round();
        }
        return only_finding(p).advice;
    };
    BOOST_TEST(contains(advice(mib), "only the part that both use: about 1 MiB at a time, not all 16 MiB"),
               advice(mib));
    BOOST_TEST(!contains(advice(12 * mib), "only the part"), advice(12 * mib));
}

BOOST_AUTO_TEST_CASE(first_touch) {
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.round();
               }) == "UMA-203");
    BOOST_TEST(ids([](Program& p) {
                   p.look(0, before);
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.look(0, before);
                   p.round();
               }) == "");
}

BOOST_AUTO_TEST_CASE(faults_that_pass_while_the_host_works_cost_nothing) {
    const auto first_touch = [](std::uint64_t host_ns, std::uint64_t waited_ns) {
        return ids([=](Program& p) {
            p.filled();
            p.launch(p.kernel, {p.id}, 1, p.launched);
            p.now += host_ns;
            p.wait(waited_ns);
            p.device_time(1, 10 * ms);
            p.look(0, after);
        });
    };
    BOOST_TEST(first_touch(0, 10 * ms) == "UMA-203");
    BOOST_TEST(first_touch(50 * ms, 2000) == "");
}

BOOST_AUTO_TEST_CASE(host_populate) {
    const Look regular{.regularity = trace::Regularity::regular};
    BOOST_TEST(ids([&](Program& p) {
                   p.filled(regular);
                   p.to_device();
                   p.look(0, before);
                   p.round();
                   p.round();
               }) == "UMA-204");
    BOOST_TEST(ids([&](Program& p) {
                   p.look(0, before);
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([&](Program& p) {
                   p.filled();
                   p.to_device();
                   p.look(0, before);
                   p.round();
                   p.round();
               }) == ""); // no kernel could have made it
}

BOOST_AUTO_TEST_CASE(read_back) {
    BOOST_TEST(ids([](Program& p) { p.bounce(1, p.bytes); }) ==
               ""); // pages new to the host cost more than the way
    BOOST_TEST(ids([](Program& p) {
                   p.look(0, before);
                   p.round();
                   p.to_host();
                   p.wait();
                   p.look(p.bytes, before);
               }) == "");
    BOOST_TEST(ids([](Program& p) { p.bounce(1, mib); }) == ""); // a little of it
    Program p;
    p.filled();
    p.to_device();
    p.bounce(1, p.bytes);
    BOOST_TEST(only_finding(p).saving_ns == 64 * (down_by_faults - down_by_prefetch), about);
}

BOOST_AUTO_TEST_CASE(false_sharing) {
    constexpr std::uint64_t granule = 64 << 10;
    BOOST_TEST(ids([](Program& p) { p.bounce(12, granule, 1, 1, 81); }) == "UMA-206");
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) { p.bounce(12, granule, 1, 1); }) == "UMA-202"); // more than one line of it
    Program p;
    p.bounce(12, granule, 1, 1, 81);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.saving_ns == 12 * (120e3 + 30e3) + 0.75 * down_by_faults, about);
    BOOST_TEST(contains(finding.advice, "an allocation of its own"), finding.advice);
}

BOOST_AUTO_TEST_CASE(read_only_bouncing) {
    BOOST_TEST(ids([](Program& p) {
                   p.kernel = p.function("_Z3sumPKfi");
                   p.bounce(4, p.bytes, 5);
               }) == "UMA-207");
    // No parameter leads to the variables of its module.
    BOOST_TEST(ids([](Program& p) {
                   p.add_variable();
                   p.digest = p.allocate(4, trace::Memory::device);
                   p.kernel = p.function("_Z3sumPKfPf");
                   p.bounce(4, p.bytes, 5);
               }) == "UMA-207");
    BOOST_TEST(ids([](Program& p) {
                   p.add_variable();
                   p.kernel = p.function("_Z3sumPKfPf"); // one of the two is null
                   p.bounce(4, p.bytes, 5);
               }) == "UMA-202");
    // It writes, and the host writes the same again.
    BOOST_TEST(ids([](Program& p) { p.bounce(4, p.bytes, 5); }) == "UMA-202");
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) { p.bounce(4, p.bytes, 5, 1); }) == "UMA-202"); // somebody writes
    Program p;
    p.kernel = p.function("_Z3sumPKfi");
    p.bounce(4, p.bytes, 5);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.saving_ns == 4 * 64 * (up_by_faults + down_by_faults), about);
    BOOST_TEST(
        contains(finding.advice,
                 "cudaMemAdvise(ptr, bytes, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, device})"),
        finding.advice);
}

BOOST_AUTO_TEST_CASE(remote_access) {
    const auto remote = [](int launches, bool advised) {
        return ids([=](Program& p) {
            if (advised)
                p.advise(3, trace::Location::host); // SetPreferredLocation
            p.filled();
            for (int i = 0; i < launches; ++i)
                p.launch(p.kernel, {p.id}, 0, p.launched);
            p.wait();
            p.look(p.bytes, after);
        });
    };
    BOOST_TEST(remote(5, true) == "UMA-208");
    BOOST_TEST(remote(2, true) == "");
    BOOST_TEST(remote(9, false) == "");
    Program p;
    p.advise(3, trace::Location::host);
    p.filled();
    for (int i = 0; i < 10; ++i)
        p.launch(p.kernel, {p.id}, 0, p.launched);
    p.wait();
    p.look(p.bytes, after);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.saving_ns == 10 * 64 * mib / 40.0 - 64 * up_by_prefetch, about);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(oversubscribed) {
    const auto evicted = [](Program& p, std::uint64_t blocks) {
        trace::Device device;
        device.memory_bytes = 48 * mib;
        p.builder.add(device);
        p.tell(test::all_kinds);
        p.look(0, before);
        p.launch(p.kernel, {p.id}, 0, p.launched);
        for (std::uint64_t i = 0; i < blocks; ++i) {
            const std::uint64_t address = test::address_of(p.id) + i % 32 * 2 * mib;
            p.migrate(address, 2 * mib, test::host, trace::MigrationCause::eviction);
            p.migrate(address, 2 * mib, test::device);
            p.now += ms;
        }
        p.wait(10 * ms);
    };
    BOOST_TEST(ids([&](Program& p) { evicted(p, 16); }) == "UMA-209");
    BOOST_TEST(ids([&](Program& p) { evicted(p, 0); }) == "");
    // As much goes to the host, but since the host has asked for it.
    BOOST_TEST(ids([&](Program& p) {
                   p.tell(test::all_kinds);
                   p.look(0, before);
                   p.launch(p.kernel, {p.id}, 0, p.launched);
                   p.migrate(test::address_of(p.id), 32 * mib, test::host);
                   p.wait();
               }) == "");
    Program p;
    evicted(p, 16);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.saving_ns == 32 * (up_by_faults - up_by_prefetch) - 16 * 2.7e3, about);
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(finding.details.front() ==
               "the program held up to 64 MiB of managed and device memory; the device has 48 MiB");
}

BOOST_AUTO_TEST_CASE(prefetch_ping_pong) {
    const auto there_and_back = [](bool host_waits, bool host_works) {
        return [=](Program& p) {
            p.look(0, before);
            p.round();
            for (int i = 0; i < 3; ++i) {
                p.to_host();
                if (host_waits)
                    p.wait();
                p.to_device();
                p.look(0, before);
                p.now -= host_works ? 0 : 10 * ms;
                p.launch(p.kernel, {p.id}, i + 1U, p.launched);
                p.wait(10 * ms);
                p.device_time(i + 1U, host_works ? 10 * ms : 5 * ms);
                p.look(0, after);
            }
        };
    };
    BOOST_TEST(ids(there_and_back(false, false)) == "UMA-210"); // the host never waits for it
    BOOST_TEST(ids(there_and_back(false, true)) == "");         // both are done before anybody needs them to be
    BOOST_TEST(ids(there_and_back(true, false)) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   p.round();
               }) == "");
    Program p;
    there_and_back(false, false)(p);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.stack == p.prefetched);
    BOOST_TEST(finding.saving_ns == 3 * 64 * (up_by_prefetch + down_by_prefetch), about);
}

BOOST_AUTO_TEST_CASE(late_prefetch) {
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.launch(p.kernel, {p.id}, 0, p.launched);
                   p.to_device();
                   p.wait(10 * ms);
                   p.look(0, after);
               }) == "UMA-211");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.round();
               }) == "");
    // The prefetch brings the next part.
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.launch(p.kernel, {p.id}, 0, p.launched);
                   p.to_device(p.bytes / 2);
                   p.wait(10 * ms);
                   p.look(0, after);
               }) == "");
    Program p;
    p.filled();
    p.launch(p.kernel, {p.id}, 0, p.launched);
    p.to_device();
    p.wait(10 * ms);
    p.look(0, after);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.stack == p.prefetched);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places.front().first == "scale is launched here");
    BOOST_TEST(finding.places.front().second == p.launched);
    BOOST_TEST(finding.saving_ns == 64 * (up_by_faults - up_by_prefetch), about); // all came by faults
    BOOST_TEST(contains(finding.advice, "cudaStreamWaitEvent"));
}

BOOST_AUTO_TEST_CASE(redundant_prefetch) {
    const auto again = [](int times) {
        return [times](Program& p) {
            p.look(0, before);
            p.round();
            for (int i = 0; i < times; ++i) {
                p.to_device();
                p.round();
            }
        };
    };
    BOOST_TEST(ids(again(8)) == "UMA-212");
    BOOST_TEST(ids(again(0)) == "");
    BOOST_TEST(ids(again(1), 1024 * mib) == ""); // once may be caution
    Program p;
    again(8)(p);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.stack == p.prefetched);
    BOOST_TEST(finding.saving_ns == 8 * (1800 + 32 * 900.0), about);
}

BOOST_AUTO_TEST_CASE(unused_prefetch) {
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.wait();
                   p.to_host();
                   p.wait();
               }) == "UMA-213");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.wait();
               }) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.look(0, before);
                   p.round();
                   p.to_host();
                   p.wait();
               }) == "");
    Program p;
    p.filled();
    p.to_device();
    p.wait();
    p.to_host();
    p.wait();
    BOOST_TEST(only_finding(p).saving_ns == 64 * (up_by_prefetch + down_by_prefetch), about);
    Program taken;
    taken.filled();
    taken.to_device();
    taken.wait();
    taken.look(taken.bytes, before);
    BOOST_TEST(only_finding(taken).saving_ns == 64 * (up_by_prefetch + down_by_faults), about);
}

BOOST_AUTO_TEST_SUITE_END()

#include "analyzer/advice/findings.hpp"
#include "managed_program.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_managed_estimates,
                      *umadvisor::test::on_rules("UMA-201 UMA-202 UMA-203 UMA-204 UMA-205 UMA-206 UMA-214"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace test::managed_program;

BOOST_AUTO_TEST_CASE(thrashing_inside_one_kernel_is_priced_by_events_and_throttling) {
    Program p(4096);
    p.look(0, before).launch().thrash(1000);
    p.event(trace::ManagedEvent{.kind = Kind::throttling, .address = address_of(p.id), .duration = 7 * ms});
    const Finding finding = lone(p.wait(), "UMA-201");
    BOOST_TEST(finding.saving_ns == 1000 * 30e3 + 7e6, about);
    // Where kernels use atomics, memory that stays on the host costs each of them the link.
    BOOST_TEST(contains(finding.advice, "in device memory (a __device__ variable, or cudaMalloc)"));
    BOOST_TEST(lacks(finding.advice, "SetPreferredLocation"));
    BOOST_TEST((finding.confidence == Confidence::low)); // nothing says how much moved
}

BOOST_AUTO_TEST_CASE(thrashing_is_priced_by_the_hosts_faults_where_they_are_told) {
    Program p(4096);
    p.tell(std::uint64_t{1} << static_cast<int>(Kind::host_fault));
    p.look(0, before).launch();
    for (int i = 0; i < 10; ++i)
        p.fault(Kind::host_fault, address_of(p.id), 0, p.touched);
    p.thrash(1000).wait(); // pages, of which a fault moves many
    BOOST_TEST(lone(p, "UMA-201").saving_ns == 10 * 30e3, about);
}

/// The host goes through all of the data for 40 ms after each launch.
static Finding thrashing_beside_a_step_of_the_host(trace::FaultAccess access, std::uint64_t bytes = whole) {
    Program p(bytes);
    p.tell(std::uint64_t{1} << static_cast<int>(Kind::host_fault));
    p.filled().round();
    for (int i = 0; i < 5; ++i) {
        p.fault(Kind::host_fault, address_of(p.id), {.access = access});
        p.now += 40 * ms;
        p.fault(Kind::host_fault, address_of(p.id) + bytes / 2, {.access = access});
        p.look(bytes, before).round();
    }
    return lone(p.thrash(10), "UMA-201");
}

BOOST_AUTO_TEST_CASE(a_kernel_in_place_of_the_hosts_step_spares_what_the_host_does_with_the_data) {
    const Finding reads = thrashing_beside_a_step_of_the_host(trace::FaultAccess::read);
    BOOST_TEST(reads.saving_ns > 5 * 40e6);
    BOOST_TEST(reads.saving_ns < 5 * 40e6 + 7 * 64 * up_by_faults);
    BOOST_TEST(contains(reads.basis, "the host's work between the first and last page fault of its turns"));
    BOOST_TEST((reads.confidence == Confidence::low));
    // What the host writes may come from elsewhere, and little memory holds flags.
    const Finding writes = thrashing_beside_a_step_of_the_host(trace::FaultAccess::write);
    BOOST_TEST(writes.saving_ns < 5 * 40e6);
    BOOST_TEST(lacks(writes.basis, "from their first page fault"));
    const Finding flag = thrashing_beside_a_step_of_the_host(trace::FaultAccess::read, 64 * kib);
    BOOST_TEST(flag.saving_ns < 40e6);
}

BOOST_AUTO_TEST_CASE(thrashing_that_is_only_seen_is_priced_by_arrivals) {
    Program p(4096);
    const auto quickly = [&p](std::uint64_t host_bytes, trace::SampleMoment moment) {
        p.residency(p.id, p.bytes, host_bytes, moment);
    };
    quickly(0, before);
    for (int i = 0; i < 20; ++i) {
        p.launch();
        p.synchronize({.duration = 90 * us});
        p.now += 9 * us;
        quickly(0, after);
        quickly(p.bytes, before);
    }
    const Finding finding = lone(p, "UMA-201");
    BOOST_TEST(finding.saving_ns > 30 * 30e3); // 20 times there and 19 times back
    BOOST_TEST(finding.saving_ns < 40 * 30e3);
}

/// All of it is prefetched in each round, and the host takes back from `first` on to `end`.
static Finding prefetched_and_read_back(std::uint64_t first, std::uint64_t end) {
    Program p;
    p.tell(std::uint64_t{1} << static_cast<int>(Kind::host_fault));
    p.filled();
    for (int i = 0; i < 8; ++i) {
        p.to_device().round();
        for (const std::uint64_t offset : {first, end - 4096}) {
            p.fault(Kind::host_fault, address_of(p.id) + offset, {.access = trace::FaultAccess::read});
            p.now += ms;
        }
        p.look(end - first, before);
    }
    return lone(p, "UMA-205");
}

BOOST_AUTO_TEST_CASE(a_prefetch_takes_along_what_the_host_takes_back_each_time) {
    const Finding part = prefetched_and_read_back(8 * mib, 16 * mib);
    BOOST_TEST_REQUIRE(part.details.size() == 1u);
    BOOST_TEST(contains(part.details[0], "the same 8 MiB of 64 MiB each time"), part.details[0]);
    BOOST_TEST(contains(part.details[0], "if no kernel uses this part, leave it out of that prefetch"));
    BOOST_TEST(prefetched_and_read_back(8 * mib, 56 * mib).details.empty());
}

BOOST_AUTO_TEST_CASE(first_touch_at_the_price_of_faults) {
    Program p(256 * mib);
    const Finding finding = lone(p.filled().round(), "UMA-203");
    BOOST_TEST(finding.allocation_stack == p.line);
    BOOST_TEST(finding.saving_ns == 23e6 - 5.26e6, about);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(first_touches_are_not_held_against_each_other) {
    Program p(64 * mib);
    const std::uint64_t others[]{p.managed(64 * mib, p.line), p.managed(64 * mib, p.line)};
    std::uint64_t sample = 0;
    for (const std::uint64_t id : {p.id, others[0], others[1]}) {
        p.residency(id, 64 * mib, 64 * mib, before);
        p.launch(p.kernel, {id}, ++sample, p.launched);
        p.wait();
        p.device_time(sample, 6 * ms);
        p.residency(id, 64 * mib, 0, after);
    }
    const Finding finding = lone(p, "UMA-203");
    BOOST_TEST(finding.saving_ns == 3 * 64 * (up_by_faults - up_by_prefetch), about);
}

BOOST_AUTO_TEST_CASE(first_touch_measured_against_later_launches_of_the_kernel) {
    Program p(256 * mib);
    const auto other = p.managed(256 * mib, p.line);
    const auto round = [&](std::uint64_t sample, std::uint64_t time) {
        p.launch(p.kernel, {p.id, other}, sample, p.launched);
        p.wait();
        p.device_time(sample, time);
        p.look(0, after);
        p.residency(other, 256 * mib, 0, after);
    };
    p.filled();
    p.residency(other, 256 * mib, 256 * mib, before);
    round(1, 60 * ms);
    for (std::uint64_t sample = 2; sample < 12; ++sample)
        round(sample, ms);
    const Finding finding = lone(p, "UMA-203"); // of both: they have one line
    BOOST_TEST(finding.allocation_text == "cudaMallocManaged 256 MiB x 2");
    BOOST_TEST(finding.saving_ns == 59e6 - 2 * 5.26e6, about);
    BOOST_TEST((finding.confidence == Confidence::high));
}

/// The host has filled it, and the driver says so.
struct Filled : Program {
    explicit Filled(std::uint64_t size = 64 * mib) : Program(size) {
        tell(light_kinds);
        counters(0, 0);
        host_fault().filled({.regularity = trace::Regularity::irregular});
    }
    /// Waited for, and all but `left` of the memory has gone from the host.
    void timed_round(std::uint64_t sample, std::uint64_t nanoseconds, std::uint64_t left) {
        launch(kernel, {id}, sample, launched);
        wait();
        if (sample != 0)
            device_time(sample, nanoseconds);
        look(left, after);
    }
};

BOOST_AUTO_TEST_CASE(each_of_many_launches_pulls_a_part) {
    const auto of = [](std::uint64_t parts) {
        Filled p;
        for (std::uint64_t i = 0; i < 64; ++i)
            p.timed_round(i < 8 ? i + 1 : 0, ms / 4, p.bytes - std::min(i + 1, parts) * mib);
        return findings_of(p);
    };
    const Finding finding = lone(of(64), "UMA-203");
    BOOST_TEST(evidence(finding, "bytes_to_device") == 64.0 * mib);
    // A batch of faults each, where the bytes alone would take less.
    BOOST_TEST(finding.saving_ns == 64 * (120e3 - up_by_prefetch), about);
    BOOST_TEST(of(8).empty()); // an eighth of it is all that they use
    Filled prefetched;
    prefetched.to_device();
    for (std::uint64_t i = 0; i < 64; ++i)
        prefetched.timed_round(0, 0, 0);
    nothing_in(prefetched);
}

BOOST_FIXTURE_TEST_CASE(launches_that_pull_a_part_take_no_longer_than_they_took, Filled) {
    for (std::uint64_t i = 0; i < 64; ++i)
        timed_round(i < 8 ? i + 1 : 0, 100'000, bytes - (i + 1) * mib);
    BOOST_TEST(lone(*this, "UMA-203").saving_ns == 64 * (100e3 - up_by_prefetch), about);
}

BOOST_FIXTURE_TEST_CASE(launches_that_pull_a_part_are_held_against_those_that_pull_nothing, Filled) {
    timed_round(1, 3 * ms, 63 * mib);
    timed_round(2, 5 * ms, 32 * mib);
    timed_round(3, 7 * ms, 0);
    for (std::uint64_t sample = 4; sample < 9; ++sample)
        timed_round(sample, ms, 0);
    const Finding finding = lone(*this, "UMA-203");
    BOOST_TEST(finding.saving_ns == 12e6 - 64 * up_by_prefetch, about);
    BOOST_TEST((finding.confidence == Confidence::high));
}

namespace {

/// Launches that nobody waits for, and how much has come to the device by the driver's totals when all is
/// freed.
std::string ids_without_waits(std::uint64_t came, bool another, bool prefetched, bool looked_at = false,
                              std::uint64_t size = 64 * mib) {
    Filled p(size);
    const std::uint64_t other = another ? p.managed(64 * mib, p.line) : 0;
    if (looked_at)
        p.residency(other, 64 * mib, 0, before);
    if (prefetched)
        p.to_device();
    for (std::uint64_t i = 0; i < 64; ++i) {
        if (another)
            p.launch(p.kernel, {p.id, other}, 0, p.launched);
        else
            p.launch();
        p.counters(i * came / 128, 0);
    }
    p.free(p.id, 20 * ms);
    p.counters(came, 0);
    return ids_of(p);
}

} // namespace

BOOST_AUTO_TEST_CASE(what_came_for_launches_that_nobody_waited_for) {
    BOOST_TEST(ids_without_waits(64 * mib, false, false) == "UMA-203");
    BOOST_TEST(ids_without_waits(8 * mib, false, false) == ""); // an eighth of it is all that they use
    BOOST_TEST(ids_without_waits(64 * mib, false, true) == "");
    // Which of two it was, nobody knows, unless it was both.
    BOOST_TEST(ids_without_waits(64 * mib, true, false) == "");
    BOOST_TEST(ids_without_waits(128 * mib, true, false) == "UMA-203");
    // Of which the host has no page, nothing can have come.
    BOOST_TEST(ids_without_waits(64 * mib, true, false, true) == "UMA-203");
    // A granule may be wanted for what lies beside it.
    BOOST_TEST(ids_without_waits(80 * mib, true, false, false, 16 * mib) == "UMA-203");
    BOOST_TEST(ids_without_waits(65 * mib, true, false, false, 32 * 1024) == "");
}

BOOST_FIXTURE_TEST_CASE(launches_that_nobody_waited_for_pay_together, Filled) {
    for (std::uint64_t sample = 1; sample < 9; ++sample)
        launch(sample);
    launches(56).free(id, 20 * ms);
    for (std::uint64_t sample = 1; sample < 9; ++sample)
        device_time(sample, ms / 4);
    counters(bytes, 0);
    BOOST_TEST(lone(*this, "UMA-203").saving_ns == 64 * (up_by_faults - up_by_prefetch), about);
}

BOOST_AUTO_TEST_CASE(memory_without_pages_has_its_share_of_a_first_launch) {
    Program p(64 * mib);
    const auto made_by_the_kernel = p.managed(192 * mib, p.touched);
    p.filled();
    for (std::uint64_t sample = 1; sample < 12; ++sample) {
        p.launch(p.kernel, {p.id, made_by_the_kernel}, sample, p.launched);
        p.wait();
        p.device_time(sample, sample == 1 ? 60 * ms : ms);
        p.look(0, after);
    }
    BOOST_TEST(lone(p, "UMA-203").saving_ns == 59e6 / 4 - 64 * up_by_prefetch, about);
}

BOOST_AUTO_TEST_CASE(a_launch_has_one_batch_of_faults_whatever_memory_they_are_of) {
    Program p(64 * mib);
    const auto small = p.managed(16 * 1024, p.touched);
    p.filled();
    p.residency(small, 16 * 1024, 16 * 1024, before);
    p.launch(p.kernel, {p.id, small}, 1, p.launched);
    p.wait();
    p.device_time(1, 6 * ms);
    p.look(0, after);
    p.residency(small, 16 * 1024, 0, after);
    BOOST_TEST(lone(p, "UMA-203").allocation_stack == p.line);
}

BOOST_AUTO_TEST_CASE(no_more_is_promised_than_was_recorded) {
    const auto saving_and_time = [](Program& program) {
        reader::Trace trace(program.path());
        const rules::Profile profile(trace);
        return std::pair(advice::find_all(profile, own_line).all.front().saving_ns,
                         static_cast<double>(profile.recorded_ns()));
    };
    const auto [saving, recorded] = saving_and_time(Program().bounce(40));
    BOOST_TEST(saving < recorded);
    // The same in less time than it would take.
    Program quick(256 * mib);
    for (int i = 0; i < 40; ++i) {
        quick.residency(quick.id, quick.bytes, quick.bytes, before);
        quick.launch().synchronize();
        quick.residency(quick.id, quick.bytes, 0, after);
    }
    const auto [most, all] = saving_and_time(quick);
    BOOST_TEST(most == all);
}

BOOST_FIXTURE_TEST_CASE(bytes_that_the_driver_counted_are_sure, Program) {
    tell(all_kinds);
    counters(0, 0);
    host_fault().filled().to_device();
    migrate(address_of(id), bytes, device);
    look(0, before).launch().wait().look(0, after).host_fault();
    migrate(address_of(id), 48 * mib, host);
    now += ms;
    counters(bytes, 48 * mib);
    look(48 * mib, before);
    const Finding finding = lone(*this, "UMA-205");
    BOOST_TEST((finding.confidence == Confidence::high));
    BOOST_TEST(finding.saving_ns == 48 * (written_by_faults - down_by_prefetch - first_write), about);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places.front().first == "the host reads it here");
    BOOST_TEST(finding.places.front().second == touched);
}

BOOST_AUTO_TEST_CASE(a_first_launch_counts_where_the_host_had_the_memory) {
    Program p(256 * mib);
    const auto other = p.managed(64 * mib, p.line);
    p.residency(other, 64 * mib, 0, before);
    p.launch(p.kernel, {other}, 1, p.launched); // of another: it was never on the host
    p.wait();
    p.device_time(1, 90 * ms);
    p.filled();
    for (std::uint64_t sample = 2; sample < 12; ++sample) {
        p.launch(sample);
        p.wait();
        p.device_time(sample, sample == 2 ? 40 * ms : ms);
        p.look(0, after);
    }
    const auto found = findings_of(p);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].rule->id == "UMA-203");
    BOOST_TEST(evidence(found[0], "measured_bytes") == 256.0 * mib);
    BOOST_TEST(found[1].rule->id == "UMA-214"); // the other's
}

/// Nothing tells who changed it: with the host's first writes a prefetch back gains less.
BOOST_AUTO_TEST_CASE(ping_pong_of_a_host_that_may_write) {
    const Finding finding = lone(Program().bounce(10, whole, 1, 1), "UMA-202");
    BOOST_TEST(evidence(finding, "bytes_to_host") == evidence(finding, "bytes_to_device"));
    const double moved = evidence(finding, "bytes_to_host") / mib;
    BOOST_TEST(evidence(finding, "fault_cost_ns") == moved * (up_by_faults + written_by_faults), about);
    BOOST_TEST(finding.saving_ns ==
                   moved * (up_by_faults - up_by_prefetch + written_by_faults - down_by_prefetch - first_write),
               about);
    BOOST_TEST(contains(finding.basis, "first writes"));
}

/// Its faults cost little more than the first writes: a prefetch back is not advised, and takes nothing from
/// what the one there gains.
BOOST_AUTO_TEST_CASE(ping_pong_whose_way_back_gains_nothing) {
    machine::Rates rates;
    rates.fault_to_host_written = rates.host_first_write * 0.99;
    const Finding finding = lone(Program().bounce(10, whole, 1, 1), "UMA-202", rates);
    BOOST_TEST(finding.saving_ns ==
                   evidence(finding, "bytes_to_device") / mib * (up_by_faults - up_by_prefetch),
               about);
    BOOST_TEST(contains(finding.advice, "not back"));
}

BOOST_AUTO_TEST_CASE(what_the_host_reads_back_and_writes) {
    const auto saving = [](bool write) {
        Program p;
        p.tell(all_kinds);
        p.counters(0, 0);
        p.filled().to_device().look(0, before).launch().wait().look(0, after);
        p.fault(Kind::host_fault, address_of(p.id),
                {.access = write ? trace::FaultAccess::write : trace::FaultAccess::read});
        p.migrate(address_of(p.id), p.bytes, host);
        p.now += ms;
        p.counters(p.bytes, p.bytes);
        p.look(p.bytes, before);
        return lone(p, "UMA-205").saving_ns;
    };
    BOOST_TEST(saving(false) == 64 * (down_by_faults - down_by_prefetch), about);
    BOOST_TEST(saving(true) == 64 * (written_by_faults - down_by_prefetch - first_write), about);
}

BOOST_AUTO_TEST_CASE(a_flag_among_data_costs_a_fault_each_way) {
    const Finding finding = lone(Program(mib).bounce(10, 64 * kib, 1, 1, 77), "UMA-206");
    const double bytes_ns = evidence(finding, "bytes_to_host") / mib * down_by_faults;
    BOOST_TEST(finding.saving_ns == 10 * (120e3 + 30e3) + bytes_ns, about);
}

BOOST_AUTO_TEST_CASE(faults_of_one_launch_on_several_allocations_come_together) {
    const auto findings = [](bool together) {
        Program p(64 * mib);
        const std::uint64_t little = p.managed(4096, p.touched);
        const std::uint64_t alone = p.function("_Z4skipPfi");
        for (int i = 0; i < 10; ++i) {
            p.look(64 * mib, before, {.content = 1 + static_cast<std::uint64_t>(i)});
            p.residency(little, 4096, i == 0 ? 0 : 4096, before);
            if (together) {
                p.launch(p.kernel, {p.id, little}, 0, p.launched);
            } else {
                p.launch();
                p.launch(alone, {little}, 0, p.launched);
            }
            p.wait();
            p.look(0, after);
            p.residency(little, 4096, 0, after);
        }
        return findings_of(p);
    };
    BOOST_TEST(findings(false).size() == 2u);
    const Finding finding = lone(findings(true), "UMA-202"); // 4 KiB among 64 MiB cost nothing of their own
    BOOST_TEST(evidence(finding, "allocation_bytes") == 64.0 * mib);
}

BOOST_AUTO_TEST_CASE(what_comes_more_often_pays_its_own_faults) {
    Program p(64 * mib);
    const std::uint64_t little = p.managed(4096, p.touched);
    for (int i = 0; i < 40; ++i) {
        p.look(i < 4 && i != 0 ? 64 * mib : 0, before);
        p.residency(little, 4096, i == 0 ? 0 : 4096, before);
        p.launch(p.kernel, {p.id, little}, 0, p.launched);
        p.wait();
        p.look(0, after);
        p.residency(little, 4096, 0, after);
    }
    const auto found = findings_of(p);
    BOOST_REQUIRE(found.size() == 2u);
    const Finding& small = evidence(found[0], "allocation_bytes") == 4096 ? found[0] : found[1];
    BOOST_TEST(small.saving_ns > 36 * 120e3);
    BOOST_TEST(small.saving_ns < 37 * (120e3 + 30e3));
}

BOOST_AUTO_TEST_CASE(what_was_copied_there_was_not_made_there) {
    const auto filled_by = [](std::string_view module_path) {
        Program p;
        p.builder.add(trace::Module{.id = 1, .path = module_path});
        trace::Frame frame{.id = 900, .address = 0x1000, .module = 1};
        p.builder.add(frame);
        p.tell(all_kinds);
        p.fault(Kind::host_fault, address_of(p.id), 0, frame.id);
        p.now += ms;
        return ids_of(p.filled().rounds(2));
    };
    BOOST_TEST(filled_by("/home/user/program") == "UMA-204");
    BOOST_TEST(filled_by("/lib/x86_64-linux-gnu/libc.so.6") == "UMA-203"); // read from a file, say
}

BOOST_AUTO_TEST_SUITE_END()

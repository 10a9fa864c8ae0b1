/// UMA-202 between devices: managed memory that two of them use in turn.
#include "managed_program.hpp"
#include "rendered.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_device_ping_pong, *umadvisor::test::on_rules("UMA-202"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace test::managed_program;
using trace::MigrationCause;

/// 64 MiB of managed memory and two devices, numbered 1 and 2 by the driver.
struct TwoDevices : Managed {
    std::uint64_t line = stack(), launched[2] = {stack(), stack()};
    std::uint64_t kernel = function("_Z5scalePfi");
    std::uint64_t bytes = 64 * mib, id = managed(bytes, line);
    std::uint64_t between = 0, faults = 0;

    TwoDevices() { tell(all_kinds); }

    void move(std::uint64_t length, std::uint64_t from, std::uint64_t to,
              MigrationCause cause = MigrationCause::coherence) {
        trace::ManagedEvent record{.kind = Kind::migration,
                                   .address = address_of(id),
                                   .bytes = length,
                                   .from = from,
                                   .to = to,
                                   .cause = static_cast<std::uint64_t>(cause)};
        event(record);
    }
    void device_faults(std::uint64_t to, std::uint64_t count) {
        fault(Kind::device_fault, address_of(id), {.more = count - 1, .to = to});
        faults += count;
    }
    /// A kernel on the device; `length` comes from the other one by its faults.
    void round(std::uint64_t ordinal, std::uint64_t length, MigrationCause cause = MigrationCause::coherence) {
        use_device(ordinal);
        launch(kernel, {id}, 0, launched[ordinal]);
        now += ms;
        if (length != 0) {
            if (cause == MigrationCause::coherence)
                device_faults(ordinal + 1, 100);
            move(length, 2 - ordinal, ordinal + 1, cause);
            between += length;
        }
        now += 10 * ms;
        synchronize({.duration = 10 * ms});
    }
    void turns(int count, std::uint64_t length, MigrationCause cause = MigrationCause::coherence) {
        round(0, 0);
        for (int turn = 1; turn <= count; ++turn)
            round(static_cast<std::uint64_t>(turn % 2), length, cause);
    }
    void totals(std::uint64_t device_faults) { counters(bytes, 0, device_faults); }
};

double saved_ns(double moved) {
    return moved / (256.0 * mib / 23e-3) * 1e9 - moved / 55.5;
}

BOOST_FIXTURE_TEST_CASE(two_devices_that_use_it_in_turn, TwoDevices) {
    turns(20, bytes);
    const Finding finding = lone(*this, "UMA-202");
    BOOST_TEST(finding.title == "ping-pong of managed memory between device 0 and device 1");
    BOOST_TEST(contains(finding.summary, "20 times"));
    BOOST_TEST(contains(finding.summary, "1.25 GiB moved between device 0 and device 1"));
    BOOST_TEST((finding.stack == launched[0] || finding.stack == launched[1]));
    BOOST_TEST(finding.places.size() == 1u);
    BOOST_TEST(finding.allocation_stack == line);
    for (const char* const remedy : {"cudaMemAdviseSetPreferredLocation", "cudaMemAdviseSetAccessedBy",
                                     "cudaMemAdviseSetReadMostly", "split the allocation"})
        BOOST_TEST(contains(finding.advice, remedy), finding.advice);
    BOOST_TEST(finding.saving_ns == saved_ns(20.0 * 64 * mib), about);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(each_device_after_the_other_was_done) {
    TwoDevices s;
    for (int round = 0; round < 10; ++round)
        s.round(0, 0);
    s.round(1, s.bytes);
    for (int round = 0; round < 10; ++round)
        s.round(1, 0);
    nothing_in(s);
}

BOOST_FIXTURE_TEST_CASE(an_edge_that_they_exchange, TwoDevices) {
    turns(20, mib);
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(prefetched_from_one_to_the_other, TwoDevices) {
    turns(20, bytes, MigrationCause::user);
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(moves_that_nobody_told, TwoDevices) {
    turns(20, 0);
    totals(5000);
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(moves_of_which_a_part_was_told, TwoDevices) {
    totals(0);
    turns(4, bytes);
    tell(light_kinds);
    turns(15, 0);
    totals(4 * faults);
    const Finding finding = lone(*this, "UMA-202");
    BOOST_TEST(contains(finding.summary, "at least 1 GiB moved"));
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(totals_have_what_went_between_devices) {
    TwoDevices between, alone;
    between.turns(20, between.bytes);
    const std::string text = text_of(between.path());
    BOOST_TEST(contains(text, "to the host, 1.25 GiB between devices"));
    alone.round(0, 0);
    alone.migrate(address_of(alone.id), alone.bytes, device);
    const std::string other = text_of(alone.path());
    BOOST_TEST(lacks(other, "between devices"));
}

/// The driver may tell of moves long after they were made, of times in which it told of no faults.
BOOST_FIXTURE_TEST_CASE(moves_that_are_told_without_their_faults_are_not_extrapolated, TwoDevices) {
    totals(0);
    turns(4, bytes);
    tell(light_kinds);
    turns(15, bytes, MigrationCause::prefetch);
    totals(4 * faults);
    const std::string text = text_of(path());
    BOOST_TEST(contains(text, "to the host, 1.19 GiB between devices"));
}

/// Each round brings memory to one device and then to the other, and a kernel of each uses it there.
struct Passed : TwoDevices {
    std::uint64_t prefetched = stack(), parts = 1;
    bool waits = false;       ///< after each kernel, else at the end of the round
    bool joins = false;       ///< the second device's stream waits for the first one's kernel
    bool one_stream = false;  ///< all prefetches are calls of the first device's stream
    bool host_writes = false; ///< before each round

    void bring(std::uint64_t ordinal) {
        use_device(one_stream ? 0 : ordinal);
        const std::uint64_t length = bytes / parts;
        trace::Prefetch record{.address = address_of(id) + (parts == 1 ? 0 : ordinal * length),
                               .bytes = length,
                               .allocation = trace::AllocationId{id},
                               .location = trace::Location::device,
                               .location_id = ordinal};
        record.stack = prefetched;
        call(record, "cuMemPrefetchAsync_v2");
        if (parts == 1)
            move(length, 2 - ordinal, ordinal + 1, MigrationCause::user);
        use_device(ordinal);
    }
    void wait_for(std::uint64_t ordinal) {
        use_device(ordinal);
        synchronize({.duration = 10 * ms});
    }
    Found rounds(std::string_view symbol) {
        kernel = function(symbol);
        for (int round = 0; round < 10; ++round) {
            if (host_writes)
                fault(Kind::host_fault, address_of(id));
            for (const std::uint64_t ordinal : {0u, 1u}) {
                if (joins && ordinal == 1)
                    act_on_stream(0x5000, trace::StreamAction::wait_event, 7);
                bring(ordinal);
                launch(kernel, {id}, 0, launched[ordinal]);
                if (waits)
                    wait_for(ordinal);
            }
            wait_for(0);
            wait_for(1);
        }
        return of_rule(findings_of(*this), "UMA-210");
    }
};

BOOST_AUTO_TEST_SUITE(passed_on_by_prefetch, *umadvisor::test::on_rules("UMA-202 UMA-203 UMA-210"))

BOOST_FIXTURE_TEST_CASE(memory_that_kernels_of_both_devices_only_read, Passed) {
    waits = true;
    const Finding finding = lone(rounds("_Z3sumPKf"), "UMA-210");
    BOOST_TEST(finding.title == "prefetches move memory between device 0 and device 1 again and again");
    BOOST_TEST(finding.stack == prefetched);
    BOOST_TEST(finding.allocation_stack == line);
    BOOST_TEST(evidence(finding, "times") == 18); // of 20, all but the first to each device
    BOOST_TEST(contains(finding.advice, "cudaMemAdviseSetReadMostly"));
    BOOST_TEST(finding.saving_ns <= 18 * 64 * mib / 55.5); // what of it a replay gains
    BOOST_TEST(finding.saving_ns > 6 * 64 * mib / 55.5);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(memory_that_leaves_a_device_whose_kernel_still_uses_it, Passed) {
    const Finding finding = lone(rounds("_Z5scalePfi"), "UMA-210");
    BOOST_TEST(evidence(finding, "times") == 19); // and what brings it back in the next round
    BOOST_TEST(contains(finding.advice, "only the part that its kernels use"));
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(memory_that_one_device_makes_and_the_other_uses) {
    Passed in_turn, by_event, by_stream, halves, updated;
    in_turn.waits = true;
    by_event.joins = true;
    by_stream.one_stream = true;
    halves.parts = 2;
    for (Passed* const each : {&in_turn, &by_event, &by_stream, &halves})
        BOOST_TEST(each->rounds("_Z5scalePfi").empty());
    BOOST_TEST(of_rule(findings_of(halves), "UMA-203").empty()); // the prefetch of its half brought it
    updated.waits = updated.host_writes = true;                  // the host's new data has to go to both anyway
    BOOST_TEST(updated.rounds("_Z3sumPKf").empty());
    BOOST_TEST(of_rule(findings_of(updated), "UMA-203").empty()); // the host had it when a prefetch brought it
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

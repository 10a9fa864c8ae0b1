/// UMA-120: copies between two devices without peer access.
#include "busy_device.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_peer_access, *umadvisor::test::on_rules("UMA-120"))

using namespace umadvisor;
using namespace umadvisor::test;
using test::close;
using trace::PeerAction;

/// 20 copies of 64 MiB between two H100: 36.4 ms without peer access, 3.8 with.
constexpr std::uint64_t through_host_ns = 1820 * us, linked_ns = 190 * us;

/// Two devices that could reach each other over NVLink; memory on each that kernels read.
struct TwoDevices : BusyDevice {
    std::uint64_t here = memory(0), there = memory(1), line = stack(), stream = make_stream();
    std::string_view symbol = "cuMemcpyPeerAsync";
    std::uint64_t copy_bytes = 64 * mib, rows = 0, call_ns = 1300;
    bool waits = true; ///< after each copy

    void link(bool access = true, bool native_atomics = true) {
        builder.add(
            trace::PeerLink{.device = 0, .peer = 1, .access = access, .native_atomics = native_atomics});
    }
    void peer(PeerAction action, std::uint64_t status = 0, std::uint64_t device = 0) {
        trace::Peer record{.action = action, .device = device, .peer = 1 - device};
        record.status = status;
        call(record, action == PeerAction::enable ? "cuCtxEnablePeerAccess" : "cuCtxDisablePeerAccess");
    }
    /// `ns` of the device; 0: not sampled.
    void pass(std::uint64_t from, std::uint64_t to, std::uint64_t ns, std::uint64_t at = 0) {
        copy(copy_bytes, call_ns,
             {.symbol = symbol,
              .source = Memory::device,
              .stack = at != 0 ? at : line,
              .sample = ns != 0 ? sample(ns) : 0,
              .asynchronous = true,
              .stream = stream,
              .height = rows,
              .from = from,
              .to = to});
        kernel({to}, stream, 5 * us);
        if (waits)
            wait(ns + 50 * us);
    }
    void passes(std::uint64_t ns = through_host_ns, int count = 20) {
        for (int round = 0; round < count; ++round)
            pass(here, there, ns);
    }
};

Found told_of_peers(TwoDevices& s, const machine::Rates& rates = {}) {
    return findings_of(s, rates);
}

Finding told_once(TwoDevices& s, const machine::Rates& rates = {}) {
    return lone(told_of_peers(s, rates), "UMA-120");
}

void is_silent(TwoDevices& s, const machine::Rates& rates = {}) {
    nothing_in(told_of_peers(s, rates));
}

BOOST_FIXTURE_TEST_CASE(copies_that_pass_through_the_host, TwoDevices) {
    link();
    passes();
    const Finding finding = told_once(*this);
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "copies") == 20);
    BOOST_TEST(finding.saving_ns == 20 * (1820e3 - 5e3 - 64 * mib / 353.0), nearly);
    BOOST_TEST(contains(finding.summary, "64 MiB x 20 from device 0 to device 1"));
    BOOST_TEST(contains(finding.summary, "36.9 GB/s"));
    for (const char* const call : {"cudaSetDevice(0); cudaDeviceEnablePeerAccess(1, 0)",
                                   "cudaSetDevice(1); cudaDeviceEnablePeerAccess(0, 0)"})
        BOOST_TEST(contains(finding.advice, call));
    BOOST_TEST(contains(finding.basis, "353 GB/s, measured over NVLink between two H100"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(copies_with_access) {
    for (const std::uint64_t device : {0, 1}) {
        TwoDevices s;
        s.link();
        s.peer(PeerAction::enable, 0, device);
        s.passes(linked_ns);
        is_silent(s);
    }
}

BOOST_AUTO_TEST_CASE(devices_that_cannot_reach_each_other) {
    TwoDevices out_of_reach, not_told;
    out_of_reach.link(false, false);
    out_of_reach.passes();
    machine::Rates rates;
    rates.peer = 50e9; // what others that reach each other would have
    is_silent(out_of_reach, rates);
    not_told.passes();
    is_silent(not_told);
}

/// The driver passes the bytes through a few buffers: calls that find them full take as long as the copies.
BOOST_FIXTURE_TEST_CASE(calls_that_wait_for_the_buffers_of_the_driver, TwoDevices) {
    link();
    waits = false;
    call_ns = through_host_ns;
    passes();
    wait(50 * us);
    const double saving_ns = told_once(*this).saving_ns;
    BOOST_TEST(saving_ns > 0.9 * 20 * (through_host_ns - linked_ns));
    BOOST_TEST(saving_ns <= 20.0 * through_host_ns);
}

/// What copies reach over the host's links nobody knows before it is measured.
BOOST_FIXTURE_TEST_CASE(devices_without_a_link_of_their_own, TwoDevices) {
    link(true, false);
    passes();
    is_silent(*this);
    BOOST_TEST(told_once(*this, machine::Rates{.peer = 50e9}).saving_ns ==
                   20 * (1820e3 - 5e3 - 64 * mib / 50.0),
               nearly);
}

BOOST_AUTO_TEST_CASE(access_that_was_asked_for) {
    TwoDevices refused, both, given_up, already;
    refused.link();
    refused.peer(PeerAction::enable, 711); // CUDA_ERROR_TOO_MANY_PEERS
    refused.passes();
    is_silent(refused);
    both.link(); // a program that measures either way
    both.passes();
    both.peer(PeerAction::enable);
    both.passes(linked_ns);
    is_silent(both);
    given_up.link();
    given_up.peer(PeerAction::enable);
    given_up.peer(PeerAction::disable);
    given_up.passes();
    is_silent(given_up);
    already.link();
    already.peer(PeerAction::enable, 704); // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    already.passes(linked_ns);
    is_silent(already);
}

BOOST_FIXTURE_TEST_CASE(access_that_nobody_uses, TwoDevices) {
    link();
    peer(PeerAction::enable);
    peer(PeerAction::enable, 0, 1);
    kernel({here}, stream, 20 * us);
    wait();
    is_silent(*this);
}

BOOST_FIXTURE_TEST_CASE(copies_within_a_device, TwoDevices) {
    const std::uint64_t beside = memory(0);
    link();
    for (int round = 0; round < 20; ++round)
        pass(here, beside, through_host_ns);
    is_silent(*this);
}

BOOST_AUTO_TEST_CASE(copies_of_little_or_of_few_bytes) {
    TwoDevices little, few;
    little.link();
    little.copy_bytes = 4096;
    little.passes(300 * us);
    is_silent(little);
    few.link();
    few.copy_bytes = mib; // 27 us each
    few.passes(30 * us);
    is_silent(few);
}

BOOST_FIXTURE_TEST_CASE(copies_that_are_as_fast, TwoDevices) {
    link(true, false); // no link of their own: 55.5 GB/s are what it may reach
    passes(1250 * us);
    is_silent(*this);
}

BOOST_AUTO_TEST_CASE(memory_that_peer_access_does_not_govern) {
    TwoDevices pooled, mapped, rows;
    const auto passes_to = [](TwoDevices& s, Scenario::AllocationOptions options) {
        s.link();
        options.device = 1;
        const std::uint64_t there = s.allocate(64 * mib, Memory::device, options);
        for (int round = 0; round < 20; ++round)
            s.pass(s.here, there, through_host_ns);
    };
    passes_to(pooled, {.symbol = "cuMemAllocAsync"});
    is_silent(pooled);
    passes_to(mapped, {.symbol = "cuMemMap", .part = 1});
    is_silent(mapped);
    rows.link();
    rows.rows = 1024;
    rows.passes();
    is_silent(rows);
}

BOOST_FIXTURE_TEST_CASE(both_ways_and_each_line_apart, TwoDevices) {
    const std::uint64_t other = stack();
    link();
    passes(through_host_ns, 5);
    for (int round = 0; round < 5; ++round)
        pass(there, here, through_host_ns);
    for (int round = 0; round < 20; ++round)
        pass(here, there, through_host_ns, other);
    const auto found = told_of_peers(*this);
    BOOST_REQUIRE_EQUAL(found.size(), 2u);
    BOOST_TEST(found[0].stack == other);
    BOOST_TEST(evidence(found[0], "copies") == 20);
    BOOST_TEST(contains(found[1].summary, "x 10 between device 0 and device 1"));
    BOOST_TEST(found[1].saving_ns == found[0].saving_ns / 2, nearly);
}

BOOST_FIXTURE_TEST_CASE(calibrated_rates_are_those_of_the_price, TwoDevices) {
    machine::Rates rates{.peer = 100e9, .device = "Odd Card"};
    link();
    passes();
    const Finding finding = told_once(*this, rates);
    BOOST_TEST(finding.saving_ns == 20 * (1820e3 - 5e3 - 64 * mib / 100.0), nearly);
    BOOST_TEST(contains(finding.basis, "100 GB/s, measured on the calibrated Odd Card"));
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_FIXTURE_TEST_CASE(times_that_were_not_measured_are_those_of_the_way_through_the_host, TwoDevices) {
    link();
    for (int round = 0; round < 20; ++round) {
        pass(here, there, 0);
        wait(through_host_ns);
    }
    const Finding finding = told_once(*this);
    BOOST_TEST(evidence(finding, "time_ns") == 20 * 64.0 * mib / 36.9, close);
    BOOST_TEST(contains(finding.basis, "36.9 GB/s, measured between two H100"));
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_SUITE_END()

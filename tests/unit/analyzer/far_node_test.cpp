/// UMA-113: copies between a device and page-locked memory on another NUMA node.
#include "found.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_far_node, *umadvisor::test::on_rules("UMA-101 UMA-113"))

using namespace umadvisor;
using namespace umadvisor::test;

/// Two devices, each on a node of its own (0 and 1), and memory on node 0. Near copies reach 50 GB/s, far ones
/// 25; each call takes 5 us more.
struct Sockets : Scenario {
    static constexpr double call_ns = 5000;
    std::uint64_t near_device = 1, far_device = 2;
    std::uint64_t near = 0, far = 0, host = 0, line = stack(), near_line = stack(), host_line = stack();
    std::uint64_t kernel = function("use");
    bool used = true; ///< what comes to a device

    explicit Sockets(std::uint64_t host_node = 1, Memory memory = Memory::pinned, std::uint64_t far_node = 2) {
        add_device(near_device, 1);
        add_device(far_device, far_node);
        near = give(Memory::device, near_device, 0);
        far = give(Memory::device, far_device, 0);
        host = give(memory, near_device, host_node);
    }

    static std::uint64_t ns(std::uint64_t bytes, double rate_gb) {
        return static_cast<std::uint64_t>(call_ns + static_cast<double>(bytes) / rate_gb);
    }
    void upload(std::uint64_t to, std::uint64_t bytes, std::uint64_t ns, Memory memory = Memory::pinned) {
        copy(bytes, ns, {.source = memory, .stack = line_of(to), .from = host, .to = to});
        use(to);
    }
    void uploads(std::uint64_t to, std::uint64_t bytes, double rate_gb, Memory memory = Memory::pinned) {
        for (int round = 0; round < 10; ++round)
            upload(to, bytes, ns(bytes, rate_gb), memory);
    }
    void upload_async(std::uint64_t to, std::uint64_t bytes, std::uint64_t ns) {
        copy(bytes, 1300,
             {.source = Memory::pinned,
              .stack = line_of(to),
              .sample = ns != 0 ? sample(ns) : 0,
              .asynchronous = true,
              .from = host,
              .to = to});
        tell_times();
        use(to);
    }

    /// What the copies bring is not the point.
    Found found(const machine::Rates& rates = {}) {
        Found all = findings_of(*this, rates);
        std::erase_if(all, [](const Finding& finding) { return finding.rule->id > "UMA-113"; });
        return all;
    }

private:
    std::uint64_t line_of(std::uint64_t to) const { return to == far ? line : near_line; }
    void use(std::uint64_t allocation) {
        if (used)
            launch(kernel, {allocation});
    }
    void add_device(std::uint64_t ordinal, std::uint64_t node) {
        builder.add(trace::Device{.ordinal = ordinal, .device_name = "NVIDIA H200", .node = node});
    }
    std::uint64_t give(Memory memory, std::uint64_t device, std::uint64_t node) {
        return allocate(64 * mib, memory,
                        {.stack = memory == Memory::device ? 0 : host_line,
                         .symbol = memory == Memory::device ? "" : "cuMemHostAlloc",
                         .device = device,
                         .node = node});
    }
};

Finding only(Sockets& sockets, const machine::Rates& rates = {}) {
    return lone(sockets.found(rates), "UMA-113");
}

const auto nearly = boost::test_tools::tolerance(0.001);

/// Of ten copies of 16 MiB, far against near.
constexpr double saved_ns = 10 * 16.0 * mib * (1 / 25.0 - 1 / 50.0);

BOOST_FIXTURE_TEST_CASE(copies_of_far_memory_against_near_ones_of_the_trace, Sockets) {
    uploads(near, 64 * mib, 50);
    uploads(far, 16 * mib, 25);
    const Finding finding = only(*this);
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(finding.allocation_stack == host_line);
    BOOST_TEST(finding.saving_ns == saved_ns, nearly);
    BOOST_TEST((finding.confidence == Confidence::high));
    BOOST_TEST(contains(finding.summary, "from memory on NUMA node 0 to a device at node 1"));
    BOOST_TEST(contains(finding.advice, "allocate it on a thread that runs on the device's NUMA node 1"));
    BOOST_TEST(contains(finding.advice, "numactl --cpunodebind=1 --membind=1"));
}

BOOST_FIXTURE_TEST_CASE(without_near_copies_the_calibrated_rate_counts_or_that_of_an_h200, Sockets) {
    uploads(far, 16 * mib, 25);
    const Finding calibrated = only(*this, machine::Rates{.pinned_to_device = 50e9, .device = "NVIDIA L4"});
    BOOST_TEST(calibrated.saving_ns == saved_ns, nearly);
    BOOST_TEST((calibrated.confidence == Confidence::medium));
    const Finding usual = only(*this);
    BOOST_TEST(usual.saving_ns == 10 * 16.0 * mib * (1 / 25.0 - 1 / 55.5), nearly);
    BOOST_TEST((usual.confidence == Confidence::low));
}

BOOST_FIXTURE_TEST_CASE(asynchronous_copies_count_by_the_devices_time_scaled_by_bytes, Sockets) {
    upload_async(near, 64 * mib, Sockets::ns(64 * mib, 50));
    for (int round = 0; round < 10; ++round)
        upload_async(far, 16 * mib, round == 3 ? Sockets::ns(16 * mib, 25) : 0);
    synchronize({.duration = 10 * ms});
    BOOST_TEST(only(*this).saving_ns == saved_ns, nearly);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_waited_for_kernels_does_not_tell_the_rate, Sockets) {
    uploads(near, 64 * mib, 50);
    uploads(far, 16 * mib, 25);
    upload(far, 16 * mib, 90'000'000);
    BOOST_TEST(only(*this).saving_ns == 1.1 * saved_ns, nearly);
}

BOOST_AUTO_TEST_CASE(registered_memory_lies_where_it_was_written_first) {
    Sockets s(1, Memory::registered);
    s.uploads(s.near, 64 * mib, 50, Memory::registered);
    s.uploads(s.far, 16 * mib, 25, Memory::registered);
    BOOST_TEST(contains(only(s).advice,
                        "write it for the first time on a thread that runs on the device's NUMA node 1"));
}

BOOST_FIXTURE_TEST_CASE(downloads_have_a_rate_of_their_own, Sockets) {
    uploads(near, 64 * mib, 25); // slow, but the other way
    for (int round = 0; round < 10; ++round)
        download(16 * mib, Sockets::ns(16 * mib, 25), {.stack = line, .from = far, .to = host});
    const Finding finding = only(*this);
    BOOST_TEST((finding.confidence == Confidence::low));
    BOOST_TEST(contains(finding.summary, "to memory on NUMA node 0 from a device at node 1"));
}

BOOST_AUTO_TEST_CASE(what_has_no_node_is_nowhere) {
    Sockets memory(0);
    memory.uploads(memory.far, 16 * mib, 25);
    nothing_in(memory.found());
    Sockets device(1, Memory::pinned, 0);
    device.uploads(device.far, 16 * mib, 25);
    nothing_in(device.found());
}

BOOST_AUTO_TEST_CASE(memory_on_the_devices_node_is_near) {
    Sockets s(2);
    s.uploads(s.far, 16 * mib, 25);
    nothing_in(s.found());
}

BOOST_FIXTURE_TEST_CASE(a_link_between_sockets_may_be_as_fast, Sockets) {
    uploads(near, 64 * mib, 50);
    uploads(far, 64 * mib, 48);
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(copies_below_a_mebibyte_tell_nothing, Sockets) {
    uploads(near, 64 * mib, 50);
    for (int round = 0; round < 40; ++round)
        uploads(far, 512 * 1024, 25);
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(what_another_rule_advises_to_do_without_does_not_count, Sockets) {
    uploads(near, 64 * mib, 50);
    used = false;
    uploads(far, 16 * mib, 25); // each overwrites the one before, but the last
    BOOST_TEST(only(*this).saving_ns == 0.1 * saved_ns, nearly);
}

BOOST_FIXTURE_TEST_CASE(pageable_memory_is_told_of_by_its_own_rule, Sockets) {
    uploads(near, 64 * mib, 50);
    uploads(far, 16 * mib, 10, Memory::pageable);
    lone(found(), "UMA-101");
}

BOOST_AUTO_TEST_SUITE_END()

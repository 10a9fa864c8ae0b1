/// UMA-121 and UMA-122: page-locked memory that kernels reach across the link again and again.
#include "found.hpp"

#include <initializer_list>

BOOST_AUTO_TEST_SUITE(analyzer_remote_uses, *umadvisor::test::on_rules("UMA-121 UMA-122"))

using namespace umadvisor;
using namespace umadvisor::test;

/// 128 MiB of page-locked memory, which the link takes 2.4 ms for.
struct ZeroCopy : Scenario {
    static constexpr std::uint64_t bytes = 128 * mib, crossing_ns = 2'700'000;
    std::uint64_t host_line = stack(), line = stack(), set_line = stack();
    std::uint64_t host = lock(bytes), out = allocate(4, Memory::device);
    std::uint64_t read = function("_Z5totalPKfPfm"), write = function("_Z5clearPfm");
    std::uint64_t threads = 256;

    std::uint64_t lock(std::uint64_t size) { return allocate(size, Memory::pinned, host_line); }
    void launch(std::uint64_t function, std::initializer_list<std::uint64_t> allocations, std::uint64_t ns) {
        Scenario::launch(function, allocations, {.stack = line, .ns = ns, .grid = {threads / 256, 1, 1}});
        queued_ns_ += ns;
    }
    void read_table(std::uint64_t ns = crossing_ns) { launch(read, {host, out}, ns); }
    void set_host() {
        set(host, bytes, {.stack = set_line, .memory = Memory::pinned, .asynchronous = true});
        queued_ns_ += bytes * 10 / 554;
    }
    /// Waits for all that was queued.
    void wait() {
        synchronize({.duration = std::exchange(queued_ns_, 0) + 10'000});
        tell_times();
    }
    Found found() {
        wait();
        return findings_of(*this);
    }

private:
    std::uint64_t queued_ns_ = 0;
};

/// Of 20 launches, less the same in device memory and a copy.
constexpr double spared_ns = ZeroCopy::crossing_ns - 1500 - ZeroCopy::bytes / 1.17e3;
constexpr double up_ns = ZeroCopy::bytes / 55.5 + 5000, down_ns = ZeroCopy::bytes / 55.4 + 5000;

BOOST_FIXTURE_TEST_CASE(a_table_that_kernels_read_in_each_launch, ZeroCopy) {
    for (int i = 0; i < 20; ++i)
        read_table();
    const Finding finding = lone(found(), "UMA-121");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(finding.allocation_stack == host_line);
    BOOST_TEST(finding.saving_ns == 20 * spared_ns - up_ns, nearly);
    BOOST_TEST((finding.confidence == Confidence::medium));
    BOOST_TEST(evidence(finding, "launches") == 20);
    BOOST_TEST(evidence(finding, "copied_bytes") == static_cast<double>(ZeroCopy::bytes));
    BOOST_TEST(contains(finding.summary, "20 launches of total: 2.7 ms each"));
    BOOST_TEST(contains(finding.advice, "cudaMemcpyHostToDevice"));
    BOOST_TEST(lacks(finding.advice, "copy what the host reads"));
}

BOOST_AUTO_TEST_CASE(a_copy_of_the_table_is_clean) {
    ZeroCopy s;
    const std::uint64_t copy = s.allocate(ZeroCopy::bytes, Memory::device);
    s.copy(ZeroCopy::bytes, 2'500'000, {.source = Memory::pinned, .from = s.host, .to = copy});
    for (int i = 0; i < 20; ++i)
        s.launch(s.read, {copy, s.out}, 100'000);
    nothing_in(s.found());
}

BOOST_FIXTURE_TEST_CASE(one_launch_reads_it_once, ZeroCopy) {
    read_table();
    nothing_in(found());
}

BOOST_AUTO_TEST_CASE(what_the_host_has_the_time_to_refill_is_an_input) {
    ZeroCopy slow, quick;
    for (int i = 0; i < 20; ++i) {
        slow.read_table();
        slow.wait();
        slow.now += 2 * ms;
        quick.read_table();
        quick.wait();
    }
    nothing_in(slow.found());
    BOOST_TEST(lone(quick.found(), "UMA-121").saving_ns == 20 * spared_ns - up_ns, nearly);
}

BOOST_FIXTURE_TEST_CASE(an_input_that_two_kernels_read_crosses_the_link_once_too_often, ZeroCopy) {
    for (int i = 0; i < 20; ++i) {
        read_table();
        read_table();
        wait();
        now += 2 * ms;
    }
    BOOST_TEST(lone(found(), "UMA-121").saving_ns == 40 * spared_ns - 20 * up_ns, nearly);
}

BOOST_AUTO_TEST_CASE(kernels_that_are_done_sooner_or_take_far_longer) {
    for (const std::uint64_t ns : {1'000'000, 8'000'000}) {
        ZeroCopy s;
        for (int i = 0; i < 20; ++i)
            s.read_table(ns);
        nothing_in(s.found());
    }
}

BOOST_FIXTURE_TEST_CASE(device_memory_that_it_reaches_may_be_the_reason, ZeroCopy) {
    const std::uint64_t data = allocate(2048 * mib, Memory::device);
    for (int i = 0; i < 20; ++i)
        launch(read, {host, data}, ZeroCopy::crossing_ns);
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(small_memory_holds_flags_and_results, ZeroCopy) {
    const std::uint64_t small = lock(mib / 2);
    for (int i = 0; i < 200; ++i)
        launch(read, {small, out}, 11'000);
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(kernels_may_tell_the_host_by_a_flag_that_they_are_done, ZeroCopy) {
    const std::uint64_t flag = lock(4096);
    for (int i = 0; i < 20; ++i) {
        launch(read, {host, flag}, ZeroCopy::crossing_ns);
        now += 4 * ms;
    }
    nothing_in(found());
}

BOOST_AUTO_TEST_CASE(a_query_that_finds_it_done_is_a_wait) {
    ZeroCopy done, busy;
    for (int i = 0; i < 20; ++i)
        for (ZeroCopy* const s : {&done, &busy}) {
            s->read_table();
            s->synchronize({.kind = trace::SyncKind::stream_query, .status = s == &done ? 0u : 600u});
            s->now += 2 * ms;
        }
    nothing_in(done.found());
    lone(busy.found(), "UMA-121");
}

BOOST_AUTO_TEST_CASE(copies_into_it_and_host_functions_change_it) {
    ZeroCopy copied, called;
    for (int i = 0; i < 20; ++i) {
        copied.read_table();
        copied.download(4096, 1300, {.asynchronous = true, .from = copied.out, .to = copied.host});
        called.read_table();
        called.host_function();
    }
    nothing_in(copied.found());
    nothing_in(called.found());
}

BOOST_FIXTURE_TEST_CASE(what_kernels_may_write_is_copied_back, ZeroCopy) {
    const std::uint64_t update = function("_Z6updatePfS_m");
    for (int i = 0; i < 20; ++i)
        launch(update, {host, out}, ZeroCopy::crossing_ns);
    const Finding finding = lone(found(), "UMA-121");
    BOOST_TEST(finding.saving_ns == 20 * spared_ns - up_ns - down_ns, nearly);
    BOOST_TEST(contains(finding.advice, "copy what the host reads once"));
}

BOOST_FIXTURE_TEST_CASE(two_uses_that_copies_would_take_as_long_as_are_left, ZeroCopy) {
    const std::uint64_t update = function("_Z6updatePfS_m");
    for (int i = 0; i < 2; ++i)
        launch(update, {host, out}, ZeroCopy::crossing_ns);
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(memory_that_is_cleared_and_written_again_and_again, ZeroCopy) {
    for (int i = 0; i < 20; ++i) {
        set_host();
        launch(write, {host}, ZeroCopy::crossing_ns);
    }
    const Finding finding = lone(found(), "UMA-122");
    const double set_ns = ZeroCopy::bytes / 55.4 - ZeroCopy::bytes / 2.8e3;
    BOOST_TEST(finding.saving_ns == 20 * (spared_ns + set_ns) - down_ns,
               nearly); // no upload: it is set first
    BOOST_TEST(evidence(finding, "memory_sets") == 20);
    BOOST_TEST(finding.places.size() == 1u);
    BOOST_TEST(contains(finding.advice, "cudaMemcpyDeviceToHost"));
}

BOOST_FIXTURE_TEST_CASE(results_that_the_host_has_the_time_to_read_are_results, ZeroCopy) {
    for (int i = 0; i < 20; ++i) {
        launch(write, {host}, ZeroCopy::crossing_ns);
        wait();
        now += 2 * ms;
    }
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(words_written_here_and_there_take_the_link_one_by_one, ZeroCopy) {
    threads = 8 * 1024 * 1024;
    for (int i = 0; i < 20; ++i)
        launch(write, {host}, 11'300'000);
    const Finding finding = lone(found(), "UMA-122");
    BOOST_TEST(finding.saving_ns > 20 * 10'500'000.0);
    BOOST_TEST(finding.saving_ns < 20 * 11'300'000.0);
    BOOST_TEST((finding.confidence == Confidence::low));
    ZeroCopy computes;
    computes.threads = 256 * 1024; // so few accesses take no such time
    for (int i = 0; i < 20; ++i)
        computes.launch(computes.write, {computes.host}, 11'300'000);
    nothing_in(computes.found());
}

BOOST_FIXTURE_TEST_CASE(pieces_side_by_side_are_one_range, ZeroCopy) {
    std::uint64_t first = 0;
    for (std::uint64_t i = 0; i < 64; ++i) {
        const std::uint64_t piece = allocate(2 * mib, Memory::pinned,
                                             {.stack = host_line,
                                              .symbol = "cuMemMap",
                                              .id = 1000 + i,
                                              .address = 0x3'0000'0000 + i * 2 * mib,
                                              .part = 1});
        first = first == 0 ? piece : first;
    }
    for (int i = 0; i < 20; ++i)
        launch(read, {first, out}, ZeroCopy::crossing_ns);
    const Finding finding = lone(found(), "UMA-121");
    BOOST_TEST(finding.saving_ns == 20 * spared_ns - up_ns, nearly);
    BOOST_TEST(contains(finding.advice, "CU_MEM_LOCATION_TYPE_DEVICE"));
}

BOOST_FIXTURE_TEST_CASE(what_does_not_fit_on_the_device_stays_on_the_host, ZeroCopy) {
    trace::Device small{.ordinal = 1};
    small.device_name = "small";
    small.memory_bytes = 160 * mib;
    builder.add(small);
    allocate(64 * mib, Memory::device);
    for (int i = 0; i < 20; ++i)
        read_table();
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(without_device_times_nothing_is_told, ZeroCopy) {
    for (int i = 0; i < 20; ++i)
        static_cast<Scenario&>(*this).launch(read, {host, out}, 0, line);
    synchronize({.duration = 20 * ZeroCopy::crossing_ns});
    nothing_in(found());
}

BOOST_AUTO_TEST_SUITE_END()

#include "managed_program.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_population, *umadvisor::test::on_rules("UMA-203 UMA-214"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace test::managed_program;

namespace {

/// A launch on memory that `look` has found to have `on_host` on the host, and eleven more of the same kernel.
Program& kernel_after(Program& p, std::uint64_t on_host, std::uint64_t first_ns = 9 * ms) {
    p.look(on_host, before);
    for (std::uint64_t sample = 1; sample < 12; ++sample)
        p.round(sample).device_time(sample, sample == 1 ? first_ns : ms);
    return p;
}

/// Eight launches on a pool of 64 MiB, each the first to use another part of it. Then the program waits.
struct Pool {
    std::uint64_t faults = 64 * mib / 4096, moved = 0, launch_ns = ms;
    std::uint64_t on_host = 0;
    bool one_more = false; ///< launch, after the wait, that finds its pages there

    Found found() const {
        constexpr std::uint64_t launches = 8;
        Program p;
        p.look(on_host, before).counters(0, 0, 0);
        for (std::uint64_t sample = 1; sample <= launches; ++sample)
            p.launch(sample);
        p.wait(launches * launch_ns).counters(moved, 0, faults);
        for (std::uint64_t sample = 1; sample <= launches; ++sample)
            p.device_time(sample, launch_ns);
        if (one_more)
            p.timed_launch(launches + 1, launch_ns).counters(moved, 0, faults);
        return findings_of(p);
    }
};

/// What a prefetch of so many MiB takes that have no pages.
constexpr double made_by_prefetch(double mebibytes) {
    return mebibytes / 2 * 0.3e6 / 32;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_kernel_that_uses_it_first_has_its_pages_made, Program) {
    kernel_after(*this, 0, 9 * ms);
    const Finding finding = lone(*this, "UMA-214");
    BOOST_TEST(finding.rule->name == "population");
    BOOST_TEST(finding.saving_ns == 8e6 - made_by_prefetch(64), about);
    BOOST_TEST(finding.stack == launched);
    BOOST_TEST(finding.allocation_stack == line);
    BOOST_TEST((finding.confidence == Confidence::high));
    BOOST_TEST(contains(finding.advice, "cudaMemPrefetchAsync(ptr, bytes, {cudaMemLocationTypeDevice, 0}"));
    BOOST_TEST(contains(finding.advice, "or cudaMalloc if the host never uses it"));
}

BOOST_FIXTURE_TEST_CASE(a_prefetch_has_the_form_of_the_toolkit_that_built_the_program, Program) {
    builder.add(trace::Runtime{.object = "/usr/bin/program", .asked = 12'080});
    kernel_after(*this, 0, 9 * ms);
    BOOST_TEST(contains(lone(*this, "UMA-214").advice, "cudaMemPrefetchAsync(ptr, bytes, 0, stream)"));
}

BOOST_FIXTURE_TEST_CASE(a_toolkit_since_cuda_13_takes_locations, Program) {
    builder.add(trace::Runtime{.object = "/usr/bin/program", .asked = 13'000});
    kernel_after(*this, 0, 9 * ms);
    BOOST_TEST(contains(lone(*this, "UMA-214").advice, "{cudaMemLocationTypeDevice, 0}, 0, stream)"));
}

BOOST_FIXTURE_TEST_CASE(launches_that_were_not_timed_make_pages_as_fast, Program) {
    kernel_after(*this, 0, 9 * ms);
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t again = managed(bytes, line);
        residency(again, bytes, 0, before);
        launch(kernel, {again}, 0, launched);
        wait();
        free(again);
    }
    const Finding finding = lone(*this, "UMA-214");
    BOOST_TEST(finding.saving_ns == 4 * (8e6 - made_by_prefetch(64)), about);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

/// One that took long and ten that did not: the rest is like all of them.
BOOST_FIXTURE_TEST_CASE(launches_that_were_not_timed_are_like_all_that_were, Program) {
    kernel_after(*this, 0, 9 * ms);
    for (std::uint64_t i = 0; i < 20; ++i) {
        const std::uint64_t again = managed(bytes, line), sample = i < 10 ? 100 + i : 0;
        residency(again, bytes, 0, before);
        launch(kernel, {again}, sample, launched);
        wait();
        if (sample != 0)
            device_time(sample, ms);
        free(again);
    }
    BOOST_TEST(lone(*this, "UMA-214").saving_ns == 21.0 / 11 * (8e6 - made_by_prefetch(64)), about);
}

BOOST_AUTO_TEST_CASE(no_population) {
    Program p, set, unseen;
    BOOST_TEST(ids_of(kernel_after(p, 0, ms)) == ""); // it took no longer
    BOOST_TEST(ids_of(kernel_after(Program().to_device(), 0)) == "");
    set.look(0, before).set(set.id, set.bytes, {});
    BOOST_TEST(ids_of(kernel_after(set, 0)) == "");
    for (std::uint64_t sample = 1; sample < 12; ++sample) // nobody looked: the host may have filled it
        unseen.timed_launch(sample, sample == 1 ? 9 * ms : ms);
    BOOST_TEST(ids_of(unseen) == "");
    Program filled;
    BOOST_TEST(ids_of(kernel_after(filled, whole)) == "UMA-203"); // by the host
    BOOST_TEST(ids_of(kernel_after(Program().prefer_host(), 0)) == "");
}

/// Its code is loaded, say.
BOOST_AUTO_TEST_CASE(a_first_launch_is_longer_for_other_reasons_too) {
    Program p(4 * mib);
    kernel_after(p, 0, 90 * ms);
    BOOST_TEST(lone(p, "UMA-214").saving_ns == 2 * 4 * up_by_faults - made_by_prefetch(4), about);
}

BOOST_AUTO_TEST_CASE(filled_memory_and_memory_without_pages_share_a_first_launch) {
    Program p(64 * mib);
    const auto made = p.managed(192 * mib, p.touched);
    p.filled({.regularity = trace::Regularity::irregular});
    p.residency(made, 192 * mib, 0, before);
    for (std::uint64_t sample = 1; sample < 12; ++sample) {
        p.launch(p.kernel, {p.id, made}, sample, p.launched);
        p.wait();
        p.device_time(sample, sample == 1 ? 41 * ms : ms);
        p.look(0, after);
        p.residency(made, 192 * mib, 0, after);
    }
    const auto found = findings_of(p);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].rule->id == "UMA-214");
    BOOST_TEST(found[0].saving_ns == 30e6 - made_by_prefetch(192), about);
    BOOST_TEST(found[1].rule->id == "UMA-203");
    BOOST_TEST(found[1].saving_ns == 10e6 - 64 * up_by_prefetch, about);
}

/// No later launch tells how much of it is the kernel's own; that the host finds all of it afterwards tells
/// that the kernel has used it.
BOOST_AUTO_TEST_CASE(a_single_launch_populates_what_comes_back) {
    const auto single = [](std::uint64_t came_back, std::uint64_t took) {
        Program p;
        p.look(0, before);
        p.round(1);
        p.device_time(1, took);
        p.look(came_back, before);
        return findings_of(p);
    };
    const Finding finding = lone(single(64 * mib, 9 * ms), "UMA-214");
    BOOST_TEST(finding.saving_ns == 64 * up_by_faults - made_by_prefetch(64), about);
    BOOST_TEST((finding.confidence == Confidence::low));
    const Finding quick = lone(single(64 * mib, 3 * ms), "UMA-214"); // no more than it took
    BOOST_TEST(quick.saving_ns == 3e6 - made_by_prefetch(64), about);
    nothing_in(single(8 * mib, 9 * ms));
}

BOOST_AUTO_TEST_CASE(launch_after_launch_makes_a_part_of_a_pool) {
    const Finding finding = lone(Pool().found(), "UMA-214");
    BOOST_TEST(finding.saving_ns == 8e6 - made_by_prefetch(64), boost::test_tools::tolerance(0.02));
    BOOST_TEST((finding.confidence == Confidence::medium));
    BOOST_TEST(contains(finding.summary, "8 launches are the first to use parts of it"), finding.summary);
}

BOOST_AUTO_TEST_CASE(kernels_that_compute_as_well_save_what_the_faults_are_worth) {
    const Finding finding = lone(Pool{.launch_ns = 4 * ms}.found(), "UMA-214");
    BOOST_TEST(finding.saving_ns == 64 * up_by_faults - made_by_prefetch(64), about);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(a_launch_that_finds_its_pages_is_not_counted) {
    BOOST_TEST(lone(Pool{.one_more = true}.found(), "UMA-214").saving_ns == 8e6 - made_by_prefetch(64),
               boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(faults_that_make_no_parts_of_a_pool) {
    nothing_in(Pool{.faults = 0}.found());
    nothing_in(Pool{.faults = 100}.found());       // of a few pages
    nothing_in(Pool{.moved = 64 * mib}.found());   // the host had filled it
    nothing_in(Pool{.on_host = 32 * mib}.found()); // in part
}

BOOST_AUTO_TEST_SUITE_END()

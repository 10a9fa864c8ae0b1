/// UMA-129: the host works on what came down while the device waits.
#include "transfers.hpp"

BOOST_FIXTURE_TEST_SUITE(analyzer_reduce_on_device, umadvisor::test::Transfers,
                         *umadvisor::test::on_rules("UMA-129"))

using namespace umadvisor;
using namespace umadvisor::test;

struct HostWork : Transfers {
    static constexpr std::uint64_t step_ns = ms;
    /// In each round `before` downloads, and for `after` the host works. The round behind the first upload does
    /// not count.
    template <class Before>
    Found found_with(const Before& before, std::uint64_t after = step_ns) {
        rounds(20, [&](std::uint64_t round) {
            use();
            before(round);
            now += after;
        });
        use();
        return found();
    }
};

BOOST_FIXTURE_TEST_CASE(two_thirds_of_the_steps_are_promised, HostWork) {
    const Finding finding = lone(found_with([&](std::uint64_t round) { download(round, 0); }), "UMA-129");
    BOOST_TEST(finding.stack == downloading);
    BOOST_TEST(evidence(finding, "steps") == 19);
    BOOST_TEST(finding.saving_ns == 19 * step_ns * 2 / 3.0, roughly);
    BOOST_TEST(finding.saving_at_least_ns == 0);
    BOOST_TEST(finding.saving_at_most_ns == 19.0 * step_ns, roughly);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_FIXTURE_TEST_CASE(no_more_counts_than_going_through_the_bytes_takes, HostWork) {
    const Found all = found_with([&](std::uint64_t round) { download(round, 0); }, 100 * ms);
    BOOST_TEST(evidence(lone(all, "UMA-129"), "host_ns") == 19 * 4.0 * bytes, roughly);
}

BOOST_FIXTURE_TEST_CASE(what_came_before_comes_again, HostWork) {
    nothing_in(found_with([&](std::uint64_t) { download(1, 0); }));
}

BOOST_FIXTURE_TEST_CASE(results_of_many_launches_are_a_checkpoint, HostWork) {
    nothing_in(found_with([&](std::uint64_t round) {
        for (int i = 0; i < 127; ++i)
            use();
        download(round, 0);
    }));
}

BOOST_FIXTURE_TEST_CASE(a_kernel_that_reaches_the_host_may_get_what_it_makes, HostWork) {
    const std::uint64_t mapped = allocate(bytes, Memory::pinned);
    nothing_in(found_with([&](std::uint64_t round) {
        launch(kernel, {table, mapped});
        download(round, 0);
    }));
}

BOOST_FIXTURE_TEST_CASE(what_the_host_makes_goes_up_again, HostWork) {
    nothing_in(found_with([&](std::uint64_t round) {
        upload(500 + round);
        use();
        download(round, 0);
    }));
}

BOOST_FIXTURE_TEST_CASE(a_short_step_is_no_reason_to_change_a_program, HostWork) {
    nothing_in(found_with([&](std::uint64_t round) {
        now += 20 * step_ns; // other work
        use();
        download(round, 0);
    }));
}

BOOST_AUTO_TEST_SUITE_END()

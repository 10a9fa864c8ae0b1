/// Findings on device memory that grows from round to round.
#include "python_program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_growth, *umadvisor::test::on_rules("UMA-417"))

using namespace umadvisor;
using namespace umadvisor::test;

/// A step launches twelve kernels, and its allocator takes `segments` of 32 MiB from the driver at line 21.
struct Training : PythonProgram {
    std::uint64_t forward = call_at(21), setup = call_at(10), kernel = function("gemm");
    std::vector<std::uint64_t> kept;

    void step(int segments, std::uint64_t line) {
        for (int i = 0; i < 12; ++i) {
            if (i < segments)
                kept.push_back(allocate(32 * mib, Memory::device, line));
            launch(kernel, {}, 0, line);
        }
    }
    Found grown() { return found(); }
};

BOOST_FIXTURE_TEST_CASE(segments_of_every_round_that_stay_are_growth, Training) {
    allocate(512 * mib, Memory::device, setup);
    for (int i = 0; i < 60; ++i)
        step(4, forward);
    const Finding finding = lone(grown(), "UMA-417");
    BOOST_TEST(finding.stack == forward);
    BOOST_TEST(evidence(finding, "allocations") == 240);
    BOOST_TEST(evidence(finding, "bytes") == 240. * 32 * mib);
    BOOST_TEST(finding.saving_bytes > 170 * 32 * mib);
    BOOST_TEST(finding.saving_bytes < 190 * 32 * mib);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(what_the_first_rounds_take_is_no_growth, Training) {
    for (int i = 0; i < 60; ++i)
        step(i < 10 ? 12 : 0, forward);
    nothing_in(grown());
}

BOOST_FIXTURE_TEST_CASE(what_is_given_back_is_no_growth, Training) {
    for (int i = 0; i < 60; ++i) {
        step(4, forward);
        for (const std::uint64_t each : kept)
            free(each, 1000, forward);
        kept.clear();
    }
    nothing_in(grown());
}

BOOST_FIXTURE_TEST_CASE(a_little_more_in_each_round_is_no_growth, Training) {
    allocate(64ull * 1024 * mib, Memory::device, setup);
    for (int i = 0; i < 60; ++i)
        step(1, forward); // 1.9 GiB of 66, and of a device of unknown size
    nothing_in(grown());
}

BOOST_FIXTURE_TEST_CASE(programs_without_python_keep_their_own_rules, Training) {
    const std::uint64_t native = call_elsewhere();
    for (int i = 0; i < 60; ++i)
        step(4, native);
    nothing_in(grown());
}

BOOST_AUTO_TEST_SUITE_END()

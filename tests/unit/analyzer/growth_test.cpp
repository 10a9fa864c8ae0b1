/// Findings on device memory that grows from round to round.
#include "python_program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_growth)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

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
    Found grown() { return of_rule(found(), "UMA-417"); }
};

} // namespace

BOOST_AUTO_TEST_CASE(segments_of_every_round_that_stay_are_growth) {
    Training s;
    s.allocate(512 * mib, Memory::device, s.setup);
    for (int i = 0; i < 60; ++i)
        s.step(4, s.forward);
    const Finding finding = lone(s.grown(), "UMA-417");
    BOOST_TEST(finding.stack == s.forward);
    BOOST_TEST(evidence(finding, "allocations") == 240);
    BOOST_TEST(evidence(finding, "bytes") == 240. * 32 * mib);
    BOOST_TEST(finding.saving_bytes > 170 * 32 * mib);
    BOOST_TEST(finding.saving_bytes < 190 * 32 * mib);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(what_the_first_rounds_take_is_no_growth) {
    Training s;
    for (int i = 0; i < 60; ++i)
        s.step(i < 10 ? 12 : 0, s.forward);
    nothing_in(s.grown());
}

BOOST_AUTO_TEST_CASE(what_is_given_back_is_no_growth) {
    Training s;
    for (int i = 0; i < 60; ++i) {
        s.step(4, s.forward);
        for (const std::uint64_t each : s.kept)
            s.free(each, 1000, s.forward);
        s.kept.clear();
    }
    nothing_in(s.grown());
}

BOOST_AUTO_TEST_CASE(a_little_more_in_each_round_is_no_growth) {
    Training s;
    s.allocate(64ull * 1024 * mib, Memory::device, s.setup);
    for (int i = 0; i < 60; ++i)
        s.step(1, s.forward); // 1.9 GiB of 66, and of a device of unknown size
    nothing_in(s.grown());
}

BOOST_AUTO_TEST_CASE(programs_without_python_keep_their_own_rules) {
    Training s;
    const std::uint64_t native = s.call_elsewhere();
    for (int i = 0; i < 60; ++i)
        s.step(4, native);
    nothing_in(s.grown());
}

BOOST_AUTO_TEST_SUITE_END()

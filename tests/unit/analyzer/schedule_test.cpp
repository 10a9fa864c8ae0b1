/// The schedule of streams and engines against what comes out on paper.
#include "analyzer/rules/transfers/schedule.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_schedule)

using namespace umadvisor::rules;

namespace {

constexpr Engine up = Engine::to_device, down = Engine::to_host, kernel = Engine::compute;

Operation work(Engine engine, std::uint32_t stream, double ns) {
    return {.engine = engine, .stream = stream, .ns = ns};
}

const auto close = boost::test_tools::tolerance(1e-9);

/// In, kernel and out of pinned memory on one stream and in chunks on streams of their own, one H200 over PCIe
/// 5; microseconds until the host had waited for all, medians of 15.
struct Measured {
    double mib, kernel, serial;
    struct {
        std::uint32_t chunks;
        double per_stream, phase_wise;
    } streams[3];
};

constexpr Measured measured[] = {
    {16, 16, 637.1, {{2, 497.3, 498.3}, {4, 435.1, 433.8}, {8, 425.2, 427.6}}},
    {16, 114, 734.6, {{2, 540.7, 542.9}, {4, 459.3, 455.0}, {8, 431.9, 429.9}}},
    {64, 121, 2559.5, {{2, 1954.3, 1953.2}, {4, 1662.8, 1664.7}, {8, 1537.0, 1536.9}}},
    {64, 477, 2915.1, {{2, 2117.4, 2115.4}, {4, 1743.7, 1747.0}, {8, 1578.7, 1572.2}}},
};

} // namespace

BOOST_AUTO_TEST_CASE(nothing_takes_no_time) {
    BOOST_TEST(makespan({}, {}) == 0);
}

BOOST_AUTO_TEST_CASE(one_stream_is_in_series) {
    const std::vector<Operation> operations{work(up, 0, 30), work(kernel, 0, 10), work(down, 0, 20)};
    const auto slots = schedule(operations, {});
    BOOST_TEST(slots[1].start == 30, close);
    BOOST_TEST(slots[2].start == 40, close);
    BOOST_TEST(slots[2].end == 60, close);
    // What comes next on another engine is handed over twice.
    BOOST_TEST(makespan(operations, {.handover_ns = 3}) == 66, close);
}

BOOST_AUTO_TEST_CASE(chunks_overlap_in_their_streams) {
    std::vector<Operation> operations;
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk)
        for (const Engine engine : {up, kernel, down})
            operations.push_back(work(engine, chunk, engine == kernel ? 10 : 30));
    // Four copies in, and what remains of the last chunk.
    BOOST_TEST(makespan(operations, {}) == 4 * 30 + 10 + 30, close);
}

BOOST_AUTO_TEST_CASE(an_engine_does_one_at_a_time) {
    BOOST_TEST(makespan(std::vector{work(kernel, 0, 10), work(kernel, 1, 10)}, {}) == 20, close);
    BOOST_TEST(makespan(std::vector{work(up, 0, 10), work(down, 1, 10)}, {}) == 10, close);
    BOOST_TEST(makespan(std::vector{work(up, 0, 10), work(down, 1, 10)}, {.one_copy_engine = true}) == 20,
               close);
}

BOOST_AUTO_TEST_CASE(copies_both_ways_slow_each_other_down_while_both_run) {
    // Both for 1.5 x 10, then the longer one alone.
    const auto slots = schedule(std::vector{work(up, 0, 10), work(down, 1, 30)}, {.duplex = 1.5});
    BOOST_TEST(slots[0].end == 15, close);
    BOOST_TEST(slots[1].end == 35, close);
    // A kernel is not in their way.
    BOOST_TEST(makespan(std::vector{work(up, 0, 10), work(kernel, 1, 10)}, {.duplex = 1.5}) == 10, close);
}

BOOST_AUTO_TEST_CASE(what_is_ready_does_not_wait_for_what_was_given_before) {
    // The second stream's kernel comes later, but the first's waits for its copy.
    const auto slots = schedule(std::vector{work(up, 0, 10), work(kernel, 0, 5), work(kernel, 1, 5)}, {});
    BOOST_TEST(slots[2].start == 0, close);
    BOOST_TEST(slots[1].start == 10, close);
}

BOOST_AUTO_TEST_CASE(the_host_gives_one_after_the_other) {
    const auto slots =
        schedule(std::vector{work(up, 0, 1), work(kernel, 1, 1), work(down, 2, 1)}, {.call_ns = 5});
    BOOST_TEST(slots[1].start == 5, close);
    BOOST_TEST(slots[2].start == 10, close);
}

BOOST_AUTO_TEST_CASE(it_is_what_was_measured_on_a_gpu) {
    const Machine machine{.call_ns = 2400, .handover_ns = 3000, .duplex = 1.16};
    constexpr double fixed_ns = 1500, wait_ns = 4000;
    const auto roughly = boost::test_tools::tolerance(0.05);
    for (const Measured& row : measured) {
        const auto part = [&](Engine engine, std::uint32_t chunks, std::uint32_t chunk) {
            const double ns = engine == kernel ? row.kernel * 1e3 - fixed_ns : row.mib * 1024 * 1024 / 55.5;
            return work(engine, chunk, fixed_ns + ns / chunks);
        };
        const auto time = [&](const std::vector<Operation>& operations) {
            return (makespan(operations, machine) + wait_ns) / 1e3;
        };
        BOOST_TEST(time({part(up, 1, 0), part(kernel, 1, 0), part(down, 1, 0)}) == row.serial, roughly);
        for (const auto& [chunks, per_stream, phase_wise] : row.streams) {
            std::vector<Operation> in_streams, in_phases;
            for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
                for (const Engine engine : {up, kernel, down})
                    in_streams.push_back(part(engine, chunks, chunk));
            for (const Engine engine : {up, kernel, down})
                for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
                    in_phases.push_back(part(engine, chunks, chunk));
            BOOST_TEST(time(in_streams) == per_stream, roughly);
            BOOST_TEST(time(in_phases) == phase_wise, roughly);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

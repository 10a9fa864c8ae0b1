#include "found.hpp"
#include "rendered.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_graphs, *umadvisor::test::on_rules("UMA-101 UMA-203"))

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;
using trace::GraphNodeKind;

/// A scenario with graphs.
struct Graphs : Scenario {
    std::uint64_t line = stack();

    trace::GraphNode node(std::uint64_t version, std::uint64_t number, GraphNodeKind kind,
                          std::uint64_t base = 0) {
        return {.version = version, .base = base, .node = number, .kind = kind};
    }
    void kernel(std::uint64_t version, std::uint64_t number, std::uint64_t function, std::uint64_t base = 0,
                std::uint64_t parent = 0) {
        trace::GraphNode record = node(version, number, GraphNodeKind::kernel, base);
        record.function = function;
        record.parent = parent;
        record.grid_x = record.grid_y = record.grid_z = record.block_x = record.block_y = record.block_z = 1;
        builder.add(record);
    }
    void copy_node(std::uint64_t version, std::uint64_t number, std::uint64_t bytes,
                   Memory source = Memory::pageable, std::uint64_t base = 0) {
        trace::GraphNode record = node(version, number, GraphNodeKind::copy, base);
        record.bytes = bytes;
        record.source_memory = source;
        record.destination_memory = Memory::device;
        builder.add(record);
    }
    void launch_graph(std::uint64_t version, std::uint64_t status = 0, std::uint64_t captured = 0,
                      std::uint64_t sample = 0) {
        trace::GraphLaunch record{
            .stack = line, .version = version, .status = status, .sample = sample, .captured = captured};
        call(record, "cuGraphLaunch", 3 * us);
    }
};

std::uint64_t copies(const json& report, const char* key) {
    std::uint64_t sum = 0;
    for (const json& row : report["copies"])
        sum += row[key].get<std::uint64_t>();
    return sum;
}

BOOST_FIXTURE_TEST_CASE(nodes_count_as_often_as_their_graph_was_launched, Graphs) {
    const auto scale = function("_Z5scalePfi");
    kernel(1, 1, scale);
    kernel(1, 2, scale);
    copy_node(1, 3, 1000);
    for (int i = 0; i < 5; ++i)
        launch_graph(1);
    launch_graph(1, 700);  // failed
    launch_graph(1, 0, 1); // became a node of another graph
    const json report = json_of(path());
    BOOST_TEST(report["graphs"]["launches"] == 6);
    BOOST_TEST(report["graphs"]["failed"] == 1);
    BOOST_TEST(report["graphs"]["captured"] == 1);
    BOOST_TEST(report["graphs"]["kernels"] == 10);
    BOOST_TEST(report["graphs"]["copies"] == 5);
    BOOST_TEST(copies(report, "count") == 5u);
    BOOST_TEST(copies(report, "bytes") == 5000u);
    BOOST_TEST(report["launches"].size() == 1u);
    BOOST_TEST(report["launches"][0]["count"] == 10);
    BOOST_TEST(report["launches"][0]["in_graphs"] == 10);
}

BOOST_AUTO_TEST_CASE(a_version_is_its_base_with_what_changed) {
    Graphs s;
    const auto before = s.function("_Z6beforev"), after = s.function("_Z5afterv");
    s.kernel(1, 1, before);
    s.copy_node(1, 2, 100);
    s.copy_node(2, 2, 300, Memory::pinned, 1);
    s.kernel(3, 1, after, 2);
    for (const std::uint64_t version : {1, 2, 3, 1})
        s.launch_graph(version);
    const json report = json_of(s.path());
    BOOST_TEST(copies(report, "count") == 4u);
    BOOST_TEST(copies(report, "bytes") == 100u + 300 + 300 + 100);
    BOOST_TEST(report["graphs"]["kernels"] == 4);
    for (const json& kernel : report["launches"])
        BOOST_TEST(kernel["count"] == (kernel["function"] == "before()" ? 3 : 1));
}

BOOST_AUTO_TEST_CASE(disabled_nodes_and_conditional_bodies_are_not_counted_as_run) {
    Graphs s;
    const auto kernel = s.function("_Z6kernelv");
    s.builder.add(s.node(1, 1, GraphNodeKind::child));
    s.kernel(1, 2, kernel, 0, 1); // in the child graph
    s.builder.add(s.node(1, 3, GraphNodeKind::conditional));
    s.kernel(1, 4, kernel, 0, 3);
    trace::GraphNode off = s.node(1, 5, GraphNodeKind::copy);
    off.bytes = 77;
    off.disabled = 1;
    s.builder.add(off);
    s.launch_graph(1);
    const auto path = s.path();
    const json report = json_of(path);
    BOOST_TEST(report["graphs"]["kernels"] == 1);
    BOOST_TEST(report["graphs"]["copies"] == 0);
    BOOST_TEST(report["graphs"]["conditional"] == 1);
    BOOST_TEST(contains(text_of(path), "conditional"));
}

BOOST_FIXTURE_TEST_CASE(a_toggled_node_is_what_it_was, Graphs) {
    copy_node(1, 1, 500);
    trace::GraphNode toggle = node(2, 1, GraphNodeKind::toggle, 1);
    toggle.disabled = 1;
    builder.add(toggle);
    toggle.version = 3;
    toggle.base = 2;
    toggle.disabled = 0;
    builder.add(toggle);
    for (const std::uint64_t version : {1, 2, 2, 3})
        launch_graph(version);
    BOOST_TEST(copies(json_of(path()), "bytes") == 1000u);
}

BOOST_FIXTURE_TEST_CASE(graphs_whose_nodes_are_not_known_are_said, Graphs) {
    launch_graph(0);
    launch_graph(9);
    const auto file = path();
    BOOST_TEST(json_of(file)["graphs"]["unknown"] == 2);
    BOOST_TEST(contains(text_of(file), "2 graph launches whose nodes are unknown"));
}

BOOST_FIXTURE_TEST_CASE(captured_calls_did_not_run, Graphs) {
    trace::Copy copy{.bytes = mib, .source_memory = Memory::pageable, .destination_memory = Memory::device};
    copy.entry = entry("cuMemcpyHtoDAsync_v2");
    copy.start = now;
    copy.asynchronous = copy.captured = 1;
    builder.add(copy);
    builder.add(trace::LaunchShape{.shape = 1, .entry = entry("cuLaunchKernel"), .captured = 1});
    builder.add(trace::Launch{.shape = 1, .start = now += 100});
    const json report = json_of(path());
    BOOST_TEST(report["calls_captured"] == 2);
    BOOST_TEST(report["copies"].empty());
    BOOST_TEST(report["launches"].empty());
    BOOST_TEST(report["calls"].size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(pageable_copies_inside_a_graph_are_found_at_its_launch, Graphs) {
    copy_node(1, 1, 64 * mib);
    for (int i = 0; i < 4; ++i)
        launch_graph(1);
    now += 80 * ms; // no less than what can be saved
    synchronize();
    const Finding finding = lone(advice::Report(path()).findings, "UMA-101");
    BOOST_TEST(finding.stack == line);
    // 4 x 64 MiB at 10.3 GB/s, less at 55.5 GB/s and what page-locking takes
    BOOST_TEST(finding.saving_ns > 4 * 5.0e6 - 6.2e6);
    BOOST_TEST(finding.saving_ns < 4 * 5.6e6 - 6.2e6);
}

BOOST_FIXTURE_TEST_CASE(small_copies_of_a_graph_cost_no_calls, Graphs) {
    for (std::uint64_t i = 1; i <= 200; ++i)
        copy_node(1, i, 100, Memory::pinned);
    launch_graph(1);
    nothing_in(advice::Report(path()).findings);
}

BOOST_AUTO_TEST_CASE(a_sample_of_a_graph_is_not_a_kernels) {
    Graphs s;
    const auto kernel = s.function("_Z6kernelv");
    s.kernel(1, 1, kernel);
    s.launch_graph(1, 0, 0, 7);
    s.device_time(7, 12345);
    const json report = json_of(s.path());
    BOOST_TEST(report["graphs"]["device_time_samples"] == 1);
    BOOST_TEST(report["graphs"]["device_time_sampled_ns"] == 12345);
    BOOST_TEST(report["launches"][0]["device_time_samples"] == 0);
}

BOOST_AUTO_TEST_CASE(first_touch_by_a_graph_is_found_at_its_launch) {
    Graphs s;
    const auto kernel = s.function("_Z6kernelPf");
    const auto x = s.allocate(64 * mib, Memory::managed, s.stack());
    trace::GraphNode node = s.node(1, 1, GraphNodeKind::kernel);
    node.function = kernel;
    node.touched.add(trace::AllocationId{x});
    s.builder.add(node);
    s.residency(x, 64 * mib, 64 * mib, trace::SampleMoment::before_launch);
    s.launch_graph(1);
    s.synchronize();
    s.residency(x, 64 * mib, 0, trace::SampleMoment::after_synchronize);
    const Finding finding = lone(advice::Report(s.path()).findings, "UMA-203");
    BOOST_TEST(finding.stack == s.line);
    BOOST_TEST(contains(finding.summary, "kernel"));
}

BOOST_FIXTURE_TEST_CASE(hostile_versions_end, Graphs) {
    // Bases and parents in circles, bases that come later, and claims of any size.
    trace::GraphNode own = node(1, 1, GraphNodeKind::child, 1);
    own.parent = 1;
    builder.add(own);
    copy_node(2, 1, ~0ull, Memory::pageable, 3);
    copy_node(3, 1, ~0ull, Memory::pageable, 2);
    trace::GraphNode whole = node(3, 0, GraphNodeKind::version, 2);
    whole.nodes = whole.untold = ~0ull;
    builder.add(whole);
    trace::GraphNode knot = node(4, 1, GraphNodeKind::copy, 0);
    knot.parent = 2;
    builder.add(knot);
    knot.node = 2;
    knot.parent = 1;
    builder.add(knot);
    for (std::uint64_t version = 5; version < 400; ++version) // a long chain, asked for from all ends
        copy_node(version, version, 1, Memory::device, version - 1);
    for (std::uint64_t i = 1; i < 400; ++i)
        launch_graph(i % 2 != 0 ? i : 400 - i);
    // A bush: all of one root, each another branch.
    for (std::uint64_t version = 400; version < 800; ++version)
        copy_node(version, version, 1, Memory::device, version % 2 != 0 ? 399 : 398);
    for (std::uint64_t version = 400; version < 800; ++version)
        launch_graph(version);
    const json report = json_of(path());
    BOOST_TEST(report["graphs"]["launches"] == 399 + 400);
}

BOOST_AUTO_TEST_SUITE_END()

/// Graphs and captures under the shim: the program notices nothing, and what the trace says ran is what simcuda
/// itself has counted.
#include "acted.hpp"

#include <map>
#include <set>

BOOST_AUTO_TEST_SUITE(process_graphs_test)

using namespace umadvisor::test;

namespace {

/// Bare, then under the shim; the output must be the same.
struct Watched {
    Folder folder;
    Json driver, found;

    explicit Watched(const std::string& program, const std::string& settings = "") {
        const Outcome bare = run_sim(folder, program);
        const Outcome watched =
            run_sim(folder, "export SIMCUDA_REPORT=sim.json; " + settings +
                                " UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + program);
        BOOST_TEST(bare.status == 0, bare.out + bare.err);
        BOOST_TEST(same(watched, bare));
        driver = driver_report(folder);
        found = report(folder);
    }
};

std::uint64_t kernels(const Json& found) {
    std::uint64_t sum = 0;
    for (const Json& row : found.at("launches"))
        sum += row.at("count").get<std::uint64_t>();
    return sum;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_graphs_ran_is_what_the_report_says) {
    const Watched watched(programs + "/graphs_program");
    check_copies(watched.found, watched.driver);
    const Json& graphs = watched.found.at("graphs");
    // Bodies of conditional nodes may run or not: they are said apart.
    BOOST_TEST(kernels(watched.found) + 3 == watched.driver.at("launches").get<std::uint64_t>(),
               watched.found.at("launches").dump());
    BOOST_TEST(holds(
        graphs, {{"conditional", 3}, {"unknown", 0}, {"captured", 1}, {"launches", 15 + 7 + 4 + 2 + 1 + 3}}));
    BOOST_TEST(watched.found.at("calls_captured") == 13 + 1 + 1 + 1); // by each of the four captures
}

BOOST_AUTO_TEST_CASE(versions_tell_only_what_changed) {
    const Watched watched(programs + "/graphs_program");
    std::map<std::uint64_t, std::set<std::uint64_t>> nodes;
    std::map<std::uint64_t, std::uint64_t> bases;
    bool dependent = false;
    for (const Json& node : dump(watched.folder, "GraphNode")) {
        const auto version = node.at("version").get<std::uint64_t>();
        bases[version] = node.at("base");
        if (node.at("node") != 0)
            nodes[version].insert(node.at("node").get<std::uint64_t>());
        dependent = dependent || node.at("dependencies") == Json::array({1});
    }
    BOOST_TEST(dependent);
    BOOST_TEST((nodes[1] == std::set<std::uint64_t>{1, 2, 3}));
    BOOST_TEST((nodes[2] == std::set<std::uint64_t>{1})); // the copy
    BOOST_TEST(bases[2] == 1u);
    BOOST_TEST((nodes[3] == std::set<std::uint64_t>{2, 3})); // the kernel and the memset, before one launch
    BOOST_TEST((nodes[4] == std::set<std::uint64_t>{1}));    // off
    BOOST_TEST((nodes[5] == std::set<std::uint64_t>{1}));    // and on
    BOOST_TEST((nodes[6] == std::set<std::uint64_t>{1, 2, 3}));
    BOOST_TEST(bases[7] == 0u); // the update that changed nothing made no version: the next graph is 7
    BOOST_TEST(
        holds(count_by(dump(watched.folder, "Graph"), "action"),
              {{"instantiate", 7}, {"destroy", 7}, {"update", 8}, {"begin_capture", 4}, {"end_capture", 4}}));
}

BOOST_AUTO_TEST_CASE(events_and_waits_of_a_capture_are_no_order_of_streams) {
    const Watched watched(programs + "/graphs_program");
    for (const char* kind : {"Event", "Stream"}) {
        int captured = 0;
        for (const Json& event : dump(watched.folder, kind)) {
            const bool inside = event.at("action") == "record" || event.at("action") == "wait_event";
            BOOST_TEST((event.at("captured") == 1) == inside, event.dump());
            captured += inside;
        }
        BOOST_TEST(captured == 2, kind);
    }
}

BOOST_AUTO_TEST_CASE(memory_of_a_graph_lives_from_instantiation_to_its_end) {
    const Watched watched(programs + "/graphs_program");
    std::map<std::uint64_t, int> live;
    for (const Json& made : dump(watched.folder, "Alloc", {{"captured", 0}}))
        ++live[made.at("allocation").get<std::uint64_t>()];
    for (const Json& freed : dump(watched.folder, "Free", {{"captured", 0}}))
        --live[freed.at("allocation").get<std::uint64_t>()];
    int left = 0;
    for (const auto& [allocation, count] : live)
        left += count;
    BOOST_TEST(left == 4); // the program's own four, which it never frees
    for (const Json& row : watched.found.at("allocations"))
        if (row.at("call") == "cuMemAllocAsync")
            BOOST_TEST(row.at("count") == 0, row.dump());
}

BOOST_AUTO_TEST_CASE(graphs_that_do_the_same_are_timed_as_one) {
    const auto timed = [](const std::string& made) {
        const Folder folder;
        const Outcome run = run_sim(folder, "UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + sim +
                                                "rule_cases --rule UMA-411 --case " + made);
        BOOST_TEST(run.status == 0, run.err);
        return dump(folder, "GraphLaunch").size() - dump(folder, "GraphLaunch", {{"sample", 0}}).size();
    };
    BOOST_TEST(timed("fault --way made-anew") == 8u + 300 / 64); // the first, and one in 64
    BOOST_TEST(timed("near --way other-shape") == 100u);
}

BOOST_AUTO_TEST_CASE(launches_are_recorded_as_captured_or_not_however_often_they_were_made) {
    const Watched watched(programs + "/captured_launches");
    std::map<bool, std::size_t> made;
    for (const Json& launch : dump(watched.folder, "Launch")) {
        const bool captured = launch.at("captured").get<bool>();
        ++made[captured];
        BOOST_TEST(launch.at("touched").empty() == captured, launch.dump()); // a node says what it reaches
        BOOST_TEST((!captured || launch.at("sample") == 0), launch.dump());
    }
    BOOST_TEST(made[true] == 800u);
    BOOST_TEST(made[false] == 700u);
}

BOOST_AUTO_TEST_CASE(graphs_made_in_a_pause_are_known_after_it) {
    const Watched watched(programs + "/graphs_program", "UMADVISOR_CAPTURE_RANGE=1");
    BOOST_TEST(dump(watched.folder, "GraphLaunch").empty());
    BOOST_TEST(dump(watched.folder, "GraphNode").size() > 10u);
}

BOOST_AUTO_TEST_SUITE_END()

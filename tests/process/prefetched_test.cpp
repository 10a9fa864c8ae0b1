/// `--act prefetch` beyond the first fault: what the host wants back, what pointers lead to, what is not worth
/// it.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>
#include <map>

BOOST_FIXTURE_TEST_SUITE(process_prefetched_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

/// Of an example whose launches fault.
Repair prefetch(const Folder& folder, const std::string& example, const std::string& config = "") {
    Repair done = repair(folder, sim + example, "prefetch", config);
    BOOST_TEST(done.bare.device_faults > 0u);
    return done;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_the_host_takes_back_each_round_is_brought_to_it) {
    const auto [bare, repaired] = prefetch(folder, "pingpong --rounds 20");
    BOOST_TEST(repaired.device_faults * 20 < bare.device_faults);
    BOOST_TEST(repaired.host_faults * 4 < bare.host_faults);
    BOOST_TEST(repaired.to_host == bare.to_host);
    BOOST_TEST(dump(folder, "Prefetch", {{"reason", "host_returns"}}).size() >= 18u);
}

BOOST_AUTO_TEST_CASE(what_the_host_wants_next_follows_the_launch_that_is_the_last_to_reach_it) {
    prefetch(folder, "batches");
    std::map<double, std::string> calls;
    for (const Json& prefetch : dump(folder, "Prefetch", {{"reason", "host_returns"}}))
        calls[prefetch.at("start_ns")] = "home";
    for (const Json& launch : dump(folder, "Launch"))
        calls[launch.at("start_ns")] = "launch";
    for (const Json& wait : dump(folder, "Sync"))
        calls[wait.at("start_ns")] = "wait";
    std::size_t behind_launches = 0, behind_waits = 0;
    std::string before;
    for (const auto& [start, call] : calls) {
        behind_launches += call == "home" && before == "launch";
        behind_waits += call == "home" && before == "wait";
        before = call;
    }
    BOOST_TEST(behind_launches >= 4u); // of ten rounds with two buffers in turn
    BOOST_TEST(behind_waits > 0u);     // until it is known which launch is the last
}

/// A block that is left to the launch's faults must not be sent home before anybody has seen whether they came.
BOOST_AUTO_TEST_CASE(a_trial_of_one_way_is_no_miss_of_the_other) {
    count(folder, sim + "batches --mib 48 --rounds 20", "prefetch");
    BOOST_TEST(hold(dump(folder, "HostReturn"), {{{"given_up", 0}}, {{"given_up", 0}}})); // of each buffer
}

/// On a card that is too small, of a loop that repeats itself.
BOOST_AUTO_TEST_CASE(what_the_next_launch_wants_moves_while_one_runs) {
    prefetch(folder, "training_loop --mib 48 --rounds 6", "capacity=32M");
    std::map<double, std::string> calls;
    for (const Json& launch : dump(folder, "Launch")) {
        BOOST_TEST(launch.at("stream") == "0x0");
        calls[launch.at("start_ns")] = "launch";
    }
    std::size_t ahead = 0;
    for (const Json& prefetch : dump(folder, "Prefetch")) {
        BOOST_TEST(prefetch.at("status") == 0);
        if (prefetch.at("reason") == "host_returns")
            continue; // behind launches or waits
        const bool aside = prefetch.at("stream") != "0x0";
        calls[prefetch.at("start_ns")] = aside ? "aside" : "other";
        ahead += prefetch.at("reason") == "next_launch";
        BOOST_TEST((prefetch.at("reason") != "next_launch" || aside));
    }
    BOOST_TEST(ahead >= 20u); // of 216 launches
    std::string before;
    for (const auto& [start, call] : calls) {
        BOOST_TEST((call != "aside" || before == "launch" || before == "aside"));
        before = call;
    }
}

BOOST_DATA_TEST_CASE(calls_that_bring_ahead_may_fail,
                     data::make({"cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"}),
                     entry) {
    const std::string command = sim + "training_loop --mib 48 --rounds 3";
    const Counted bare = count(folder, command, "", "capacity=32M");
    for (const char* failure : {":1:719", ":4:600", ":0:719"}) {
        const std::string config = std::string("capacity=32M,fail=") + entry + failure;
        BOOST_TEST(count(folder, command, "prefetch", config).out == bare.out, config);
    }
}

BOOST_DATA_TEST_CASE(pointers_in_memory_are_followed,
                     data::make({"pointer_table", "linked_nodes", "uploaded_pointers"}), name) {
    const auto [bare, repaired] = prefetch(Folder(), name);
    BOOST_TEST(repaired.device_faults * 8 <= bare.device_faults);
}

BOOST_AUTO_TEST_CASE(what_the_kernels_of_a_graph_reach_is_there_before_its_launch) {
    const auto [bare, repaired] = prefetch(folder, "graph_rounds --rounds 5");
    BOOST_TEST(repaired.device_faults == 0u);
    BOOST_TEST(repaired.to_device == bare.to_device);
    std::map<double, std::string> calls;
    for (const Json& launch : dump(folder, "GraphLaunch"))
        calls[launch.at("start_ns")] = "launch";
    for (const Json& prefetch : dump(folder, "Prefetch", {{"location", "device"}}))
        calls[prefetch.at("start_ns")] = "prefetch";
    std::vector<std::size_t> before_each{0};
    for (const auto& [start, call] : calls)
        if (call == "launch")
            before_each.push_back(0);
        else
            ++before_each.back();
    // Three allocations at first; of these the host writes one and reads one in each round.
    BOOST_TEST((before_each == std::vector<std::size_t>{3, 2, 2, 2, 2, 0}));
}

/// simcuda holds up what thrashes, so that prefetches pay; a set and a launch reach it in each round.
BOOST_AUTO_TEST_CASE(small_memory_goes_both_ways) {
    const std::string command = sim + "repairs_programs scalar";
    const Outcome bare = run_bare(folder, command), acted = run_acted(folder, command, "auto");
    const auto result = [](const Outcome& of) { return of.out.substr(0, of.out.find('\n')); };
    BOOST_TEST(result(acted) == result(bare), acted.err);
    BOOST_TEST(notices(report(folder), "is prefetched in both directions"));
    BOOST_TEST(dump(folder, "Prefetch", {{"location", "device"}}).size() > 3900u); // of 4000 rounds
    BOOST_TEST(dump(folder, "Prefetch", {{"location", "host"}}).size() > 3900u);
}

/// Which no allocation call has returned.
BOOST_AUTO_TEST_CASE(variables_are_prefetched) {
    const auto [bare, repaired] = prefetch(Folder(), "static_managed");
    BOOST_TEST(repaired.device_faults == 0u);
    BOOST_TEST(repaired.host_faults * 4 < bare.host_faults);
    BOOST_TEST(repaired.to_device == bare.to_device);
}

/// Of the program itself there are none.
BOOST_DATA_TEST_CASE(prefetches_may_fail,
                     data::make({"pingpong", "graph_rounds", "training_loop --mib 48 --rounds 3"}), program) {
    const std::string command = sim + program, small = "capacity=32M";
    const Counted bare = count(folder, command, "", small);
    for (const std::string failure : {"1:719", "2:2", "4:600", "0:719", "0:801"}) {
        const Counted failed =
            count(folder, command, "prefetch", small + ",fail=cuMemPrefetchAsync:" + failure);
        BOOST_TEST(failed.out == bare.out, failure);
        std::size_t failures = 0;
        for (const Json& prefetch : dump(folder, "Prefetch")) {
            BOOST_TEST(prefetch.at("origin") == "umadvisor");
            failures += prefetch.at("status") == std::stoi(failure.substr(2));
        }
        const bool switched_off = failures >= 8 && failures < 16;
        BOOST_TEST((failure[0] == '0' ? switched_off : failures == 1), failure << ": " << failures);
    }
}

BOOST_AUTO_TEST_CASE(what_launches_hardly_use_is_left_to_faults) {
    const auto [bare, repaired] = repair(folder, programs + "/hardly_used", "prefetch");
    constexpr std::uint64_t all = 24 * (32ull << 20);
    BOOST_TEST(bare.to_device < all / 8);
    BOOST_TEST(repaired.to_device < all / 2);
    BOOST_TEST(notices_line(report(folder), "left to faults for now", "hardly_used.cu"));
    BOOST_TEST(says(run(folder, advisor + " report x.umtrace").out, "hardly_used.cu:"));

    const Counted whole = count(folder, programs + "/hardly_used whole", "prefetch");
    BOOST_TEST(whole.to_device >= all);
    BOOST_TEST(whole.device_faults < 200u); // of blocks that were left out to see
}

BOOST_AUTO_TEST_CASE(on_a_full_card_what_is_wanted_last_leaves) {
    const auto [bare, repaired] = prefetch(folder, "training_loop --mib 48 --rounds 6", "capacity=33554432");
    BOOST_TEST(repaired.moved() * 10 < bare.moved() * 9);
    BOOST_TEST(!dump(folder, "Prefetch", {{"reason", "makes_room"}, {"location", "host"}}).empty());
}

/// Which part each device wants, or that all do in turn, only faults tell.
BOOST_AUTO_TEST_CASE(what_several_devices_reach_is_left_to_faults) {
    const std::string program = programs + "/managed_devices";
    const Outcome bare = run_sim(folder, program, "-2dev");
    BOOST_TEST(bare.status == 0, bare.err);
    BOOST_TEST(same(record(folder, program, "--act prefetch", "-2dev"), bare));
    std::map<std::uint64_t, std::vector<std::uint64_t>> brought; // to which devices, by allocation
    for (const Json& prefetch : dump(folder, "Prefetch", {{"reason", "not_resident"}}))
        brought[prefetch.at("allocation")].push_back(prefetch.at("location_id"));
    const std::vector<std::vector<std::uint64_t>> expected{
        {0}, {1}, {0}}; // of each its own, and what both reach
    std::vector<std::vector<std::uint64_t>> found;
    for (const auto& [allocation, devices] : brought)
        found.push_back(devices);
    BOOST_TEST((found == expected), Json(found).dump());
    BOOST_TEST(notices_line(report(folder), "launches on several devices use a managed allocation",
                            "managed_devices.cpp"));
}

BOOST_AUTO_TEST_CASE(advice_for_several_devices_that_is_refused_leaves_nothing_behind) {
    const std::string table = sim + "device_table --rounds 24 --mib 8";
    const auto advice = [&](const std::string& fault) {
        const std::string config = "export SIMCUDA_CONFIG=capacity=1G,devices=2" + fault + "; ";
        const Outcome acted =
            run_sim(folder, config + advisor + " run -f -o x.umtrace --act prefetch -- " + table);
        BOOST_TEST(acted.status == 0, acted.err);
        std::vector<std::string> reasons;
        for (const Json& each : dump(folder, "Advise"))
            reasons.push_back(each.at("reason"));
        return reasons;
    };
    using Reasons = std::vector<std::string>;
    BOOST_TEST((advice("") == Reasons{"read_by_both"}));
    BOOST_TEST((advice(",fail=cuMemAdvise:1:1") == Reasons{"read_by_both"}));
    BOOST_TEST((advice(",fail=cuMemPrefetchAsync:0:1") == Reasons{"read_by_both", "no_relief"}));
}

BOOST_AUTO_TEST_SUITE_END()

/// Memory beyond plain allocation (address ranges, pools, other processes and APIs), contexts and devices: each
/// program runs bare and under the shim on simcuda, must not notice, and its trace must tell what it did.
#include "unnoticed.hpp"
#include "watched.hpp"

#include <boost/test/data/test_case.hpp>

#include <map>
#include <set>

BOOST_FIXTURE_TEST_SUITE(process_memory_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const char* const settings[] = {"", "UMADVISOR_ACT=prefetch,rewrite=all", "UMADVISOR_STACKS=off"};

/// A scenario of memory_program.
Outcome run_unnoticed(const Folder& folder, const std::string& scenario, const std::string& environment = "",
                      const std::string& variant = "") {
    Outcome watched = check_unnoticed(folder, "memory_program " + scenario, environment, variant);
    BOOST_TEST(watched.status == 0, watched.err);
    return watched;
}

/// The lines of one record and action.
std::vector<Json> actions(const Folder& folder, const std::string& kind, const std::string& action,
                          const std::string& trace = "x.umtrace") {
    return dump(folder, kind, {{"action", action}}, trace);
}

/// Allocations and the frees that end them, each named once.
void check_each_ends_once(const Folder& folder, std::size_t live, const std::string& trace = "x.umtrace") {
    std::set<std::uint64_t> open;
    std::size_t made = 0, ended = 0;
    for (const Json& alloc : dump(folder, "Alloc", {}, trace))
        if (alloc.at("allocation") != 0) {
            BOOST_TEST(open.insert(alloc.at("allocation").get<std::uint64_t>()).second);
            ++made;
        }
    for (const Json& free : dump(folder, "Free", {{"status", 0}}, trace))
        if (free.at("allocation") != 0) {
            BOOST_TEST(open.erase(free.at("allocation").get<std::uint64_t>()) == 1u, free.dump());
            ++ended;
        }
    BOOST_TEST(made > 0u);
    BOOST_TEST(open.size() == live);
    BOOST_TEST(made == ended + live);
}

} // namespace

BOOST_DATA_TEST_CASE(expandable_segments, data::make(settings), setting) {
    run_unnoticed(folder, "expandable", setting);
    // Mapped piece by piece, one of them twice; one on the host stays.
    const auto allocs = dump(folder, "Alloc");
    BOOST_TEST(allocs.size() == 6u);
    BOOST_TEST((count_by(allocs, "memory") == std::map<std::string, int>{{"device", 5}, {"pinned", 1}}));
    for (const Json& alloc : allocs)
        BOOST_TEST(holds(alloc, {{"entry", "cuMemMap"}, {"bytes", 2 << 20}, {"part", 1}}));
    check_each_ends_once(folder, 1);
    // One unmap ended two of them, one was refused and ended none.
    BOOST_TEST(actions(folder, "VirtualMemory", "unmap").size() == 5u);
    BOOST_TEST(actions(folder, "VirtualMemory", "map").size() == 6u);
    BOOST_TEST(actions(folder, "VirtualMemory", "reserve").size() == 3u);
    BOOST_TEST(actions(folder, "VirtualMemory", "release").at(4).at("status") != 0);
    const auto access = actions(folder, "VirtualMemory", "set_access");
    BOOST_TEST_REQUIRE(access.size() == 7u);
    BOOST_TEST(access.back().at("devices") == 1);
    BOOST_TEST(access[5].at("location") == "host_numa");
    // Launches and copies into the pieces are of them, by their places.
    std::vector<std::uint64_t> touched;
    for (const Json& launch : dump(folder, "Launch"))
        for (const Json& id : launch.at("touched"))
            touched.push_back(id.get<std::uint64_t>());
    const auto id = [&](std::size_t map) { return allocs.at(map).at("allocation").get<std::uint64_t>(); };
    BOOST_TEST((touched == std::vector<std::uint64_t>{id(1), id(4), id(5)}));
    const auto copies = dump(folder, "Copy");
    BOOST_TEST_REQUIRE(copies.size() == 5u);
    BOOST_TEST(copies[0].at("destination_allocation") == id(1));
    BOOST_TEST(copies[2].at("source_allocation") == id(4));
    BOOST_TEST(copies[3].at("source_allocation") == 0); // nothing is mapped there any more
    BOOST_TEST(copies[4].at("source_memory") == "pinned");
    // Its records are one call each in the report.
    BOOST_TEST(calls_of(report(folder), "cuMemMap").at("count") == 6);
}

BOOST_DATA_TEST_CASE(addresses_come_back_in_other_contexts, data::make({"contexts", "contexts-2"}), scenario) {
    const bool two = std::string(scenario) == "contexts-2";
    run_unnoticed(folder, scenario, "", two ? "-2dev" : "");
    check_each_ends_once(folder, 0);
    const auto allocs = dump(folder, "Alloc");
    BOOST_TEST(allocs.size() == 4u * 4 + 3);
    if (two)
        for (std::size_t i = 0; i < 16; ++i)
            BOOST_TEST(allocs[i].at("device") == (i % 4 == 3 ? 0 : i / 4 % 2), allocs[i].dump());
    // Copies name the allocation that was there at the time.
    const auto copies = dump(folder, "Copy");
    BOOST_TEST_REQUIRE(copies.size() == 12u);
    for (std::size_t i = 0; i < 4; ++i) {
        BOOST_TEST(copies[3 * i].at("destination_allocation") == allocs[4 * i].at("allocation"));
        BOOST_TEST(copies[3 * i + 1].at("destination_allocation") == allocs[4 * i + 3].at("allocation"));
        BOOST_TEST(copies[3 * i + 2].at("source_allocation") == allocs[4 * i + 3].at("allocation"));
    }
    for (std::size_t i = 0; i < 12; ++i) {
        BOOST_TEST(copies[i].at("device") == (two && i % 3 == 0 ? i / 3 % 2 : 0), copies[i].dump());
        BOOST_TEST((copies[i].at("context") == copies[1].at("context")) == (i % 3 != 0));
    }
    // What went with a context went by the call that destroyed it.
    BOOST_TEST((count_by(dump(folder, "Free", {{"part", 1}}), "entry") ==
                std::map<std::string, int>{{"cuCtxDestroy_v2", 12}, {"cuDevicePrimaryCtxReset_v2", 2}}));
    // How threads wait in the primary context, from the start and from then on.
    const auto retained = actions(folder, "Context", "retain_primary"),
               set_later = actions(folder, "Context", "set_flags");
    BOOST_TEST(retained.at(0).at("flags") == 0);
    BOOST_TEST(retained.at(0).at("flags_known") == 1);
    BOOST_TEST_REQUIRE(set_later.size() == 1u);
    BOOST_TEST(set_later[0].at("flags") == 4);
    BOOST_TEST(set_later[0].at("context") == "0x0");
    const auto created = actions(folder, "Context", "create");
    BOOST_TEST_REQUIRE(created.size() == 4u);
    for (std::size_t i = 0; i < 4; ++i)
        BOOST_TEST(created[i].at("device") == (two ? i % 2 : 0));
    // Told once each time it changes: at first, after each pop, when an invalid one is refused, and after the
    // reset has taken it and it is set again.
    std::size_t refused = 0;
    const auto set = actions(folder, "Context", "set_current");
    for (const Json& record : set)
        refused += record.at("status") != 0;
    BOOST_TEST(refused == 1u);
    BOOST_TEST(set.size() == 1u + 4 + 1 + 2);
}

BOOST_DATA_TEST_CASE(contexts_that_come_and_go_in_many_threads, data::make(settings), setting) {
    run_unnoticed(folder, "storm", setting);
    check_each_ends_once(folder, 0);
    // Each context takes along what was made in it, and nothing of another that has its handle by now: all of
    // it is the thread's own. What a new allocation covers may be another's, whose call is not over yet.
    std::map<std::uint64_t, std::uint64_t> maker;
    for (const Json& alloc : dump(folder, "Alloc"))
        maker[alloc.at("allocation").get<std::uint64_t>()] = alloc.at("thread").get<std::uint64_t>();
    BOOST_TEST(maker.size() == 6u * 60 * 3);
    for (const Json& free : dump(folder, "Free", {{"entry", "cuCtxDestroy_v2"}}))
        BOOST_TEST(free.at("thread") == maker[free.at("allocation").get<std::uint64_t>()], free.dump());
}

BOOST_AUTO_TEST_CASE(memory_of_the_other_device) {
    run_unnoticed(folder, "devices", "", "-2dev");
    std::map<std::uint64_t, std::uint64_t> device_by_bytes;
    for (const Json& alloc : dump(folder, "Alloc"))
        device_by_bytes[alloc.at("bytes").get<std::uint64_t>()] +=
            100 + alloc.at("device").get<std::uint64_t>();
    // cuMemAlloc here; there and mapped there, of the same size; from a pool there.
    BOOST_TEST((device_by_bytes ==
                std::map<std::uint64_t, std::uint64_t>{{1 << 20, 100}, {2 << 20, 202}, {3 << 20, 101}}));
    BOOST_TEST(hold(dump(folder, "Peer"), {{{"action", "enable"}, {"device", 0}, {"peer", 1}},
                                           {{"status", 704}}, // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                                           {{"action", "disable"}}}));
    BOOST_TEST(
        hold(dump(folder, "PeerLink"), {{{"device", 0}, {"peer", 1}, {"access", 1}, {"native_atomics", 1}}}));
}

BOOST_AUTO_TEST_CASE(a_driver_that_does_not_say_whether_devices_reach_each_other) {
    run_unnoticed(folder, "devices", "SIMCUDA_CONFIG=fail=cuDeviceCanAccessPeer:0:3", "-2dev");
    BOOST_TEST(dump(folder, "Peer").size() == 3u);
    BOOST_TEST(dump(folder, "PeerLink").empty());
}

BOOST_AUTO_TEST_CASE(devices_out_of_each_others_reach) {
    const Watched watched("rule_cases --rule UMA-120 --case near", "SIMCUDA_CONFIG=devices=2,peers=0");
    BOOST_TEST(hold(watched.records("PeerLink"), {{{"access", 0}, {"native_atomics", 0}}}));
}

BOOST_AUTO_TEST_CASE(without_copies_between_devices_nobody_asks) {
    run_unnoticed(folder, "contexts", "", "-2dev");
    BOOST_TEST(dump(folder, "PeerLink").empty());
}

BOOST_DATA_TEST_CASE(threads_that_come_without_a_context, data::make(settings), setting) {
    run_unnoticed(folder, "workers", setting);
    std::map<std::uint64_t, int> told;
    for (const Json& record : actions(folder, "Context", "set_current"))
        ++told[record.at("thread").get<std::uint64_t>()];
    BOOST_TEST(told.size() == 5u); // the main thread and every other worker
    BOOST_TEST(dump(folder, "Alloc", {{"status", 201}}).size() == 12u); // CUDA_ERROR_INVALID_CONTEXT
}

BOOST_DATA_TEST_CASE(pools_say_what_their_memory_is, data::make(settings), setting) {
    run_unnoticed(folder, "pools", setting);
    std::vector<std::string> classes;
    std::set<std::string> pools;
    for (const Json& alloc : dump(folder, "Alloc", {{"status", 0}})) {
        classes.push_back(alloc.at("memory"));
        pools.insert(alloc.at("pool"));
        BOOST_TEST(alloc.at("entry") == "cuMemAllocFromPoolAsync");
    }
    const std::string on_device =
        std::string(setting).find("rewrite") != std::string::npos ? "managed" : "device";
    BOOST_TEST((classes == std::vector<std::string>{on_device, on_device, "pinned", "managed"}));
    BOOST_TEST(pools.size() == 4u);
    check_each_ends_once(folder, 0);
    BOOST_TEST(actions(folder, "Pool", "create").size() == 2u);
    BOOST_TEST(actions(folder, "Pool", "get").size() == 2u); // each pool once, though asked for five times
    BOOST_TEST(actions(folder, "Pool", "set").size() == 1u);
    BOOST_TEST(hold(actions(folder, "Pool", "set_attribute"), {{{"value", 64 << 20}}}));
    BOOST_TEST(actions(folder, "Pool", "set_access").at(0).at("value") == 1);
    BOOST_TEST(actions(folder, "Pool", "trim").size() == 1u);
    BOOST_TEST(actions(folder, "Pool", "destroy").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_pool_is_not_taken_for_one_that_had_its_handle) {
    const Outcome outcome = run_unnoticed(folder, "pools-of-one-handle", "UMADVISOR_OUTPUT=");
    BOOST_TEST(says(outcome.out, "same handle 1"));
    std::vector<Json> imported;
    for (const std::string& trace : traces(folder))
        for (Json& alloc : dump(folder, "Alloc", {{"entry", "cuMemPoolImportPointer"}}, trace))
            imported.push_back(std::move(alloc));
    BOOST_TEST(hold(imported, {{{"memory", "device"}}}));
}

BOOST_AUTO_TEST_CASE(memory_of_another_process) {
    const Outcome outcome = run_unnoticed(folder, "ipc pools", "UMADVISOR_OUTPUT=");
    BOOST_TEST(says(outcome.out, "value 12"));
    BOOST_TEST_REQUIRE(traces(folder).size() == 2u);
    std::set<std::string> exported, opened;
    for (const std::string& trace : traces(folder)) {
        for (const Json& record : actions(folder, "Ipc", "export_memory", trace))
            exported.insert(record.at("key").get<std::string>());
        const auto opens = actions(folder, "Ipc", "open_memory", trace);
        for (const Json& record : opens)
            opened.insert(record.at("key").get<std::string>());
        if (opens.size() == 2u) { // the importer: one allocation for both, gone at the first close
            const auto allocs = dump(folder, "Alloc", {}, trace);
            BOOST_TEST_REQUIRE(hold(allocs, {{{"entry", "cuIpcOpenMemHandle_v2"}, {"bytes", 1 << 20}},
                                             {{"entry", "cuMemPoolImportPointer"}, {"bytes", 4096}}}));
            check_each_ends_once(folder, 0, trace);
            BOOST_TEST(actions(folder, "Ipc", "close_memory", trace).size() == 3u);
            BOOST_TEST(actions(folder, "Ipc", "open_event", trace).size() == 1u);
            BOOST_TEST(dump(folder, "Copy", {}, trace).at(0).at("source_allocation") ==
                       allocs[0].at("allocation"));
        } else {
            BOOST_TEST(hold(opens, {{{"status", 201}}})); // its own handle
        }
    }
    BOOST_TEST(exported.size() == 1u);
    BOOST_TEST((exported == opened));
}

BOOST_DATA_TEST_CASE(memory_of_another_api, data::make(settings), setting) {
    run_unnoticed(folder, "external", setting);
    BOOST_TEST(hold(dump(folder, "Alloc"), {{{"entry", "cuExternalMemoryGetMappedBuffer"}, {"bytes", 65536}}}));
    check_each_ends_once(folder, 0);
    BOOST_TEST(dump(folder, "Launch").at(0).at("touched").size() == 1u);
    BOOST_TEST(hold(actions(folder, "External", "map_buffer"), {{{"offset", 65536}}}));
    BOOST_TEST(actions(folder, "External", "import_memory").size() == 1u);
    BOOST_TEST(actions(folder, "External", "destroy").size() == 1u);
}

BOOST_DATA_TEST_CASE(green_contexts, data::make(settings), setting) {
    run_unnoticed(folder, "green", setting);
    const auto made = actions(folder, "Context", "create_green");
    BOOST_TEST_REQUIRE(made.size() == 1u);
    const auto from = actions(folder, "Context", "from_green");
    BOOST_TEST_REQUIRE(from.size() == 1u);
    BOOST_TEST(from[0].at("green") == made[0].at("green"));
    const auto set = actions(folder, "Context", "set_current");
    BOOST_TEST_REQUIRE(set.size() == 4u);
    BOOST_TEST(set[1].at("context") == from[0].at("context"));
    BOOST_TEST(set[2].at("context") == set[0].at("context"));
    BOOST_TEST(actions(folder, "Stream", "create").at(0).at("context") == made[0].at("green"));
    BOOST_TEST(actions(folder, "Stream", "context_wait_event").size() == 1u);
    BOOST_TEST(actions(folder, "Event", "record_context").at(0).at("context") == made[0].at("green"));
    BOOST_TEST(actions(folder, "Context", "destroy_green").size() == 1u);
    // Memory made in it is known until the device is reset.
    BOOST_TEST(dump(folder, "Set").at(1).at("allocation") != 0);
    BOOST_TEST(hold(dump(folder, "Free"), {{{"entry", "cuDevicePrimaryCtxReset_v2"}}}));
}

BOOST_DATA_TEST_CASE(host_functions_and_values, data::make(settings), setting) {
    const Outcome outcome = run_unnoticed(folder, "host-functions", setting);
    BOOST_TEST(says(outcome.out, "called 2, wrote 7 9"));
    const Json stream = actions(folder, "Stream", "create").at(0).at("stream");
    BOOST_TEST(hold(dump(folder, "HostFunction"),
                    {{{"entry", "cuLaunchHostFunc"}, {"stream", stream}}, {{"entry", "cuStreamAddCallback"}}}));
    BOOST_TEST(actions(folder, "Stream", "write_value").at(0).at("value") == 7);
    BOOST_TEST(actions(folder, "Stream", "wait_value").size() == 1u);
    BOOST_TEST(actions(folder, "Stream", "memory_operations").at(0).at("value") == 1);
}

BOOST_DATA_TEST_CASE(host_memory_and_devices_have_nodes, data::make({"pinned", "registered"}), way) {
    const Watched watched(std::string("rule_cases --rule UMA-113 --case fault --way ") + way,
                          "SIMCUDA_CONFIG=host_nodes=2");
    BOOST_TEST(hold(watched.records("Device"), {{{"node", 1}}, {{"node", 2}}}));
    std::map<std::string, std::set<bool>> known;
    for (const Json& alloc : watched.records("Alloc"))
        known[alloc.at("memory")].insert(alloc.at("node") != 0);
    const std::map<std::string, std::set<bool>> expected{{"device", {false}}, {way, {true}}};
    BOOST_TEST((known == expected));
}

BOOST_AUTO_TEST_SUITE_END()

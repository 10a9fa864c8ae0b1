/// Managed memory, as the driver's tools queue tells it: whole programs on simcuda, whose own counts it must
/// equal.
#include "watched.hpp"

#include <map>
#include <set>

BOOST_AUTO_TEST_SUITE(process_managed_test)

using namespace umadvisor::test;

BOOST_AUTO_TEST_CASE(every_byte_and_fault_is_told) {
    for (const std::string program : {"pingpong", "vector_add_managed", "prefetched_add", "static_managed"})
        BOOST_TEST_CONTEXT(program) {
            const Watched watched(program);
            BOOST_TEST(watched.source().at("source") == "queue");
            check_counted(watched);
        }
}

namespace {

/// Two devices, and all that the driver tells.
Watched in_turn(const std::string& way) {
    return Watched("devices_in_turn " + way, "SIMCUDA_CONFIG=devices=2 UMADVISOR_UM_DETAIL=full", programs);
}

std::vector<Json> ping_pongs(const Watched& watched) {
    std::vector<Json> found;
    const Json whole = report(watched.folder);
    for (const Json& finding : whole.at("findings"))
        if (finding.at("rule") == "UMA-202")
            found.push_back(finding);
    return found;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_moves_between_devices_is_told) {
    const Watched watched = in_turn("turns");
    const auto migrations = watched.events("migration");
    const std::uint64_t between = moved(migrations, 1, 2) + moved(migrations, 2, 1);
    BOOST_TEST(between == 11u * (16 << 20));
    BOOST_TEST(watched.counted.at("bytes_between_devices") == between);
    const auto found = ping_pongs(watched);
    BOOST_TEST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].at("title") == "ping-pong of managed memory between device 0 and device 1");
    BOOST_TEST(found[0].at("evidence").at("bytes_between_devices") == between);
    BOOST_TEST(found[0].at("evidence").at("times") == 11);
    const Outcome text = run(watched.folder, advisor + " report x.umtrace");
    BOOST_TEST(says(text.out, "176 MiB between devices"));
}

BOOST_AUTO_TEST_CASE(devices_that_have_a_part_each_do_not_ping_pong) {
    for (const char* const way : {"parts", "once"})
        BOOST_TEST(ping_pongs(in_turn(way)).empty(), way);
}

BOOST_AUTO_TEST_CASE(times_are_those_of_the_trace) {
    const Watched watched("pingpong");
    const auto launches = watched.records("Launch");
    const auto first = launches.front().at("start_ns").get<double>(),
               last = launches.back().at("start_ns").get<double>();
    std::size_t between = 0;
    for (const Json& event : watched.events("device_fault"))
        between += event.at("start_ns").get<double>() >= first;
    BOOST_TEST(between == watched.events("device_fault").size());
    BOOST_TEST(watched.events("host_fault").front().at("start_ns").get<double>() < first);
    BOOST_TEST(watched.events("host_fault").back().at("start_ns").get<double>() > last);
}

BOOST_AUTO_TEST_CASE(events_are_written_in_order) {
    const Watched watched("static_managed");
    const auto events = watched.records("ManagedEvent");
    BOOST_TEST(!events.empty());
    std::size_t back = 0;
    for (std::size_t i = 1; i < events.size(); ++i)
        back += events[i].at("start_ns").get<double>() < events[i - 1].at("start_ns").get<double>();
    BOOST_TEST(back == 0u);
}

BOOST_AUTO_TEST_CASE(totals_are_told_at_each_synchronisation) {
    const Watched watched("pingpong");
    // Five rounds: the kernel's half is told by the synchronisation, the host's by the next launch.
    std::uint64_t to_device = 0, grown = 0;
    for (const Json& totals : watched.records("ManagedCounters")) {
        grown += totals.at("bytes_to_device").get<std::uint64_t>() != to_device &&
                 totals.at("bytes_to_device") == totals.at("bytes_to_host").get<std::uint64_t>() + (8u << 20);
        to_device = totals.at("bytes_to_device").get<std::uint64_t>();
    }
    BOOST_TEST(grown == 5u);
}

BOOST_AUTO_TEST_CASE(a_host_fault_names_the_instruction) {
    const Watched watched("pingpong");
    std::map<std::uint64_t, Json> frames;
    for (const Json& frame : watched.records("Frame"))
        frames[frame.at("id").get<std::uint64_t>()] = frame;
    std::map<std::uint64_t, Json> modules;
    for (const Json& module : watched.records("Module"))
        modules[module.at("id").get<std::uint64_t>()] = module;
    std::set<std::string> places;
    for (const Json& event : watched.events("host_fault")) {
        const Json& frame = frames.at(event.at("code").get<std::uint64_t>());
        BOOST_TEST(frame.at("parent") == 0);
        const Json& module = modules.at(frame.at("module").get<std::uint64_t>());
        const auto address = std::stoull(frame.at("address").get<std::string>(), nullptr, 16) - 1 -
                             std::stoull(module.at("bias").get<std::string>(), nullptr, 16);
        std::ostringstream command;
        command << "addr2line -f -C -e " << module.at("path").get<std::string>() << " 0x" << std::hex
                << address;
        const std::string found = run(watched.folder, command.str()).out;
        places.insert(found.substr(0, found.find_first_of("(\n")));
    }
    BOOST_TEST(Json(places).dump() == Json({"main"}).dump());
}

BOOST_AUTO_TEST_CASE(the_detail_that_was_asked_for) {
    const auto kinds = [](const std::string& detail) {
        const Watched watched("pingpong", "UMADVISOR_UM_DETAIL=" + detail);
        std::set<std::string> found;
        for (const Json& event : watched.records("ManagedEvent"))
            found.insert(event.at("kind").get<std::string>());
        return Json(found).dump();
    };
    BOOST_TEST(kinds("light") == R"(["host_fault"])");
    BOOST_TEST(kinds("faults") == R"(["device_fault","host_fault"])");
    BOOST_TEST(kinds("full") == R"(["device_fault","host_fault","migration"])");
}

BOOST_AUTO_TEST_CASE(without_the_queue_residency_is_sampled_and_the_trace_says_why) {
    const Watched refused("pingpong", "SIMCUDA_CONFIG=tools_queue=0");
    BOOST_TEST(refused.source().at("source") == "pagemap");
    BOOST_TEST(says(refused.source().at("trouble"), "refuses"));
    BOOST_TEST(refused.records("ManagedEvent").empty());
    BOOST_TEST(refused.records("ManagedCounters").empty());
    BOOST_TEST(!refused.records("Residency").empty());

    const Watched chosen("pingpong", "UMADVISOR_UM=pagemap");
    BOOST_TEST(chosen.source().at("source") == "pagemap");
    BOOST_TEST(chosen.source().at("trouble") == "");
    BOOST_TEST(chosen.records("ManagedEvent").empty());
    BOOST_TEST(run(chosen.folder, advisor + " report --html -o page.html x.umtrace").status == 0);
    BOOST_TEST(says(read(chosen.folder / "page.html"), "Moved to the host</dt><dd>not known<"));

    const Watched off("pingpong", "UMADVISOR_UM=off");
    BOOST_TEST(off.records("ManagedSource").empty());
    BOOST_TEST(off.records("Residency").empty());
}

BOOST_AUTO_TEST_CASE(a_program_that_is_repaired_is_spared_what_recording_would_cost_it) {
    const auto timed = [](const Watched& watched) {
        return watched.records("Launch").size() - watched.records("Launch", {{"sample", 0}}).size();
    };
    const Watched recorded("pingpong", "");
    BOOST_TEST(recorded.source().at("source") == "queue");
    BOOST_TEST(timed(recorded) > 0u);
    const Watched repaired("pingpong", "UMADVISOR_ACT=prefetch");
    BOOST_TEST(repaired.source().at("source") == "pagemap");
    BOOST_TEST(repaired.source().at("trouble") == "");
    BOOST_TEST(timed(repaired) == 0u);
    for (const Json& look : repaired.records("Residency"))
        BOOST_TEST(look.at("moment") == "before_launch");
    const Watched relieved("pingpong", "UMADVISOR_ACT=prefetch,relieve");
    BOOST_TEST(relieved.source().at("source") == "queue");
    const Watched asked("pingpong", "UMADVISOR_ACT=prefetch UMADVISOR_UM=queue UMADVISOR_DEVICE_TIME=1");
    BOOST_TEST(asked.source().at("source") == "queue");
    BOOST_TEST(timed(asked) > 0u);
}

BOOST_AUTO_TEST_CASE(what_the_host_reads_last_is_seen_before_the_free_where_nobody_else_tells) {
    const auto looks = [](const Watched& watched, const std::string& moment) {
        return watched.records("Residency", {{"moment", moment}});
    };
    const Watched alone("pingpong", "UMADVISOR_UM=pagemap");
    const auto last = looks(alone, "before_free");
    BOOST_TEST_REQUIRE(last.size() == 1u);
    BOOST_TEST(last[0].at("host_pages") == last[0].at("pages"));
    BOOST_TEST(last[0].at("content") == 0);
    const Json freed = alone.records("Free").back();
    BOOST_TEST(freed.at("allocation") == last[0].at("allocation"));
    BOOST_TEST(freed.at("start_ns").get<double>() >= last[0].at("start_ns").get<double>());
    BOOST_TEST(looks(alone, "before_prefetch").empty());

    BOOST_TEST(looks(Watched("pingpong", "SIMCUDA_CONFIG=tools_queue=0"), "before_free").size() == 1u);
    BOOST_TEST(looks(Watched("pingpong"), "before_free").empty());
}

BOOST_AUTO_TEST_CASE(what_the_host_took_back_is_seen_before_a_prefetch) {
    const auto looks = [](const std::string& program, const std::string& settings) {
        const Watched watched(program, settings);
        std::vector<bool> on_host;
        for (const Json& look : watched.records("Residency", {{"moment", "before_prefetch"}}))
            on_host.push_back(look.at("host_pages") != 0);
        return on_host;
    };
    const auto before_each = looks("pingpong_prefetched", "UMADVISOR_UM=pagemap");
    BOOST_TEST(before_each.size() == 5u); // one a round, of those to the device
    BOOST_TEST(std::count(before_each.begin(), before_each.end(), true) == 5);
    BOOST_TEST(looks("pingpong_prefetched", "").size() == 1u); // the first: what it was filled with
}

BOOST_AUTO_TEST_CASE(a_program_without_managed_memory_is_not_watched) {
    const Watched watched("pinned_copies");
    BOOST_TEST(watched.records("ManagedSource").empty());
    BOOST_TEST(watched.records("ManagedDetail").empty());
}

BOOST_AUTO_TEST_SUITE_END()

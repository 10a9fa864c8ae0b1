/// Managed memory, as CUPTI tells it: whole programs on simcuda, with simcuda's CUPTI.
#include "unnoticed.hpp"
#include "watched.hpp"

#include <set>

BOOST_AUTO_TEST_SUITE(process_cupti_test)

using namespace umadvisor::test;

namespace {

const std::string cupti = "UMADVISOR_UM=cupti";

/// tests/process/programs/profiled.cu, which asks for CUPTI's seat itself.
Watched profiled(const std::string& when, const std::string& settings) {
    return Watched("profiled " + when, settings, programs);
}

/// One line on stderr with `part` in it, the page table in the place of CUPTI, and the trace says why.
void check_refused(const Watched& watched, const std::string& part) {
    std::istringstream err(watched.outcome.err);
    std::size_t lines_of_it = 0;
    for (std::string line; std::getline(err, line);)
        lines_of_it += says(line, part) && says(line, "page table");
    BOOST_TEST(lines_of_it == 1u, watched.outcome.err);
    const Json source = watched.source();
    BOOST_TEST(source.at("source") == "pagemap");
    BOOST_TEST(says(source.at("trouble"), part));
    BOOST_TEST(watched.records("ManagedEvent").empty());
    BOOST_TEST(watched.records("ManagedCounters").empty());
    BOOST_TEST(!watched.records("Residency").empty());
}

/// What is wrong with each line's memory, and what came of the rules.
std::string judgement(const Watched& watched) {
    const Json found = report(watched.folder);
    std::multiset<std::string> all;
    for (const Json& verdict : found.at("managed").at("verdicts"))
        all.insert(verdict.at("verdict").get<std::string>());
    for (const Json& finding : found.at("findings"))
        all.insert(finding.at("rule").get<std::string>());
    return Json(all).dump();
}

} // namespace

BOOST_AUTO_TEST_CASE(cupti_tells_what_simcuda_counts) {
    for (const std::string program : {"pingpong", "vector_add_managed", "prefetched_add", "static_managed"})
        BOOST_TEST_CONTEXT(program) {
            const Watched watched(program, cupti);
            const Watched queue(program);
            BOOST_TEST(watched.source().at("source") == "cupti");
            BOOST_TEST(watched.source().at("trouble") == "");
            check_counted(watched);
            BOOST_TEST(counted_faults(watched.events("device_fault")) ==
                       counted_faults(queue.events("device_fault")));
            const Json totals = watched.records("ManagedCounters").back();
            BOOST_TEST(totals.at("device_faults") ==
                       queue.records("ManagedCounters").back().at("device_faults"));
        }
}

/// Not so what moved to the host: on simcuda a thread that has faulted may go on, and launch, before the clock
/// of its last move has come so far.
BOOST_AUTO_TEST_CASE(totals_are_told_as_the_queue_tells_them) {
    const auto told = [](const Watched& watched) {
        Json all = Json::array();
        for (const Json& totals : watched.records("ManagedCounters"))
            all.push_back({totals.at("bytes_to_device"), totals.at("host_faults"), totals.at("device_faults")});
        return all.dump();
    };
    BOOST_TEST(told(Watched("pingpong", cupti)) == told(Watched("pingpong")));
}

/// The last turn of what came before a pause is taken at its start or in it.
BOOST_AUTO_TEST_CASE(what_comes_before_a_pause_is_told) {
    const Watched watched("pingpong", cupti + " UMADVISOR_DURATION=0.003");
    BOOST_TEST(!watched.events("host_fault").empty());
}

BOOST_AUTO_TEST_CASE(the_judgement_is_that_by_the_queue) {
    for (const std::string program :
         {"pingpong", "pingpong_prefetched", "vector_add_managed", "prefetched_add"})
        BOOST_TEST(judgement(Watched(program, cupti)) == judgement(Watched(program)), program);
}

BOOST_AUTO_TEST_CASE(records_are_in_the_order_and_the_time_of_the_trace) {
    const Watched watched("pingpong", cupti);
    const auto events = watched.records("ManagedEvent");
    BOOST_TEST_REQUIRE(!events.empty());
    std::set<std::uint64_t> threads;
    std::size_t back = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        threads.insert(events[i].at("thread").get<std::uint64_t>());
        back += i != 0 && events[i].at("start_ns").get<double>() < events[i - 1].at("start_ns").get<double>();
    }
    BOOST_TEST(back == 0u);
    BOOST_TEST(threads.size() == 1u);
    const auto launches = watched.records("Launch");
    BOOST_TEST(threads.count(launches.front().at("thread").get<std::uint64_t>()) == 0u);
    BOOST_TEST(watched.events("host_fault").front().at("start_ns").get<double>() <
               launches.front().at("start_ns").get<double>());
    BOOST_TEST(watched.events("device_fault").front().at("start_ns").get<double>() >
               launches.front().at("start_ns").get<double>());
    BOOST_TEST(watched.events("host_fault").back().at("start_ns").get<double>() >
               launches.back().at("start_ns").get<double>());
    BOOST_TEST(watched.events("host_fault").front().at("code") != 0);
}

BOOST_AUTO_TEST_CASE(cupti_is_loaded_when_it_is_asked_for_and_not_otherwise) {
    for (const std::string settings : {"", "UMADVISOR_UM=queue", "UMADVISOR_UM=pagemap", "UMADVISOR_UM=off"}) {
        const Watched without = profiled("after", settings);
        BOOST_TEST(says(without.outcome.out, "loaded 0\nseat 0\n"), settings << without.outcome.out);
    }
    const Watched with = profiled("after", cupti);
    BOOST_TEST(says(with.outcome.out, "loaded 1\nseat 39\n"));
    BOOST_TEST(with.source().at("source") == "cupti");
}

BOOST_AUTO_TEST_CASE(a_seat_that_is_taken_is_left_to_who_has_it) {
    const Watched watched = profiled("before", cupti + " UMADVISOR_QUIET=0");
    BOOST_TEST(says(watched.outcome.out, "seat 0\n"));
    check_refused(watched, "another profiler");
}

BOOST_AUTO_TEST_CASE(a_cupti_that_refuses_gets_its_seat_back) {
    const Watched watched = profiled("after", cupti + " UMADVISOR_QUIET=0 SIMCUDA_CUPTI_REFUSE="
                                                      "cuptiActivityConfigureUnifiedMemoryCounter:28");
    check_refused(watched, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED");
    BOOST_TEST(says(watched.outcome.out, "seat 0\n"));
    check_refused(Watched("pingpong", cupti + " UMADVISOR_QUIET=0 SIMCUDA_CUPTI_REFUSE=cuptiSubscribe:35"),
                  "(35: ");
    check_refused(Watched("pingpong", cupti + " UMADVISOR_QUIET=0 SIMCUDA_CONFIG=tools_queue=0"),
                  "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED");
}

BOOST_AUTO_TEST_CASE(a_cupti_of_unknown_records_is_not_asked) {
    for (const std::string version : {"18", "29", "130200"})
        check_refused(Watched("pingpong", cupti + " UMADVISOR_QUIET=0 SIMCUDA_CUPTI_VERSION=" + version),
                      "version " + version + ",");
    BOOST_TEST(Watched("pingpong", cupti + " SIMCUDA_CUPTI_VERSION=28").source().at("source") == "cupti");
}

BOOST_AUTO_TEST_CASE(without_cupti_the_page_table_tells) {
    const Folder folder;
    for (const char* file : {"libcuda.so.1", "libcudart.so.13"})
        fs::create_symlink(fs::path(simcuda) / file, folder.path / file);
    check_refused(Watched("pingpong", cupti + " UMADVISOR_QUIET=0 LD_LIBRARY_PATH=" + folder.path.string()),
                  "not found");
}

BOOST_AUTO_TEST_CASE(what_cupti_drops_is_counted_and_ends_the_totals) {
    const Watched watched("pingpong", cupti + " SIMCUDA_CUPTI_ROOM=64");
    std::uint64_t lost = 0;
    for (const Json& detail : watched.records("ManagedDetail"))
        lost += detail.at("lost").get<std::uint64_t>();
    BOOST_TEST(lost > 0u);
    const Outcome text = run(watched.folder, advisor + " report --managed x.umtrace");
    BOOST_TEST(says(text.out, "CUPTI dropped " + std::to_string(lost) + " events"));
    BOOST_TEST(says(text.out, "from: CUPTI's"));
}

BOOST_AUTO_TEST_CASE(what_cupti_asks_the_driver_is_no_call_of_the_program) {
    const auto versions_asked = [](const std::string& settings) {
        const Watched watched("pingpong", settings);
        const Json found = report(watched.folder);
        for (const Json& entry : found.at("counted"))
            if (entry.at("entry") == "cuDriverGetVersion")
                return entry.at("count").get<int>();
        return 0;
    };
    BOOST_TEST(versions_asked(cupti) > 0); // by the runtime
    BOOST_TEST(versions_asked(cupti) == versions_asked("UMADVISOR_UM=pagemap"));
}

/// A child has none of the threads, and CUPTI is its parent's. Ends of all kinds find the thread at work.
BOOST_AUTO_TEST_CASE(forks_and_ends_are_as_without_it) {
    for (const char* program :
         {"processes refused", "processes exec", "ends _Fork", "ends atexit", "ends quick_exit"})
        BOOST_TEST_CONTEXT(program) {
            check_unnoticed(Folder(), program, cupti);
        }
}

BOOST_AUTO_TEST_SUITE_END()

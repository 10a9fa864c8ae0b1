/// What others do to the trace of a running program is no affair of the program's.
#include "process.hpp"
#include "tests/segments.hpp"

#include <boost/test/data/test_case.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <random>
#include <thread>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(process_attacked_test)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string load = sim + "trace_load 40";

struct Attack {
    const char* name;
    void (*run)(const fs::path& trace);
};

std::ostream& operator<<(std::ostream& out, const Attack& attack) {
    return out << attack.name;
}

void write(const fs::path& path, const char* text) {
    std::ofstream(path) << text;
}

const Attack attacks[] = {
    {"cut to nothing", [](const fs::path& trace) { fs::resize_file(trace, 0); }},
    {"cut to a few bytes", [](const fs::path& trace) { fs::resize_file(trace, 100); }},
    {"cut to half", [](const fs::path& trace) { fs::resize_file(trace, fs::file_size(trace) / 2); }},
    {"removed", [](const fs::path& trace) { fs::remove(trace); }},
    {"written over", [](const fs::path& trace) { write(trace, "something else"); }},
    {"replaced",
     [](const fs::path& trace) {
         write(trace.string() + ".new", "something else");
         fs::rename(trace.string() + ".new", trace);
     }},
    {"made a directory",
     [](const fs::path& trace) {
         fs::remove(trace);
         fs::create_directory(trace);
     }},
};

/// Runs the load, and `attack` a while after its trace is there. Its process id is in the file "pid".
Outcome run_attacked(const Folder& folder, std::chrono::microseconds while_,
                     const std::function<void()>& attack) {
    auto running = std::async(std::launch::async, [&] {
        return run_sim(folder, "sh -c 'echo $$ > pid; UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim +
                                   " exec " + load + "'");
    });
    while (!fs::exists(folder.path / "x.umtrace") &&
           running.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        std::this_thread::yield();
    std::this_thread::sleep_for(while_);
    attack();
    return running.get();
}

pid_t pid_in(const Folder& folder) {
    return std::stoi(read(folder / "pid"));
}

const std::string& alone() {
    static const std::string out = [] {
        const Folder folder;
        return run_sim(folder, load).out;
    }();
    return out;
}

} // namespace

BOOST_DATA_TEST_CASE(what_becomes_of_the_trace_changes_nothing, data::make(attacks), attack) {
    BOOST_TEST_REQUIRE(!alone().empty());
    std::mt19937 random(static_cast<unsigned>(attack.name[0]));
    for (int round = 0; round < 7; ++round) {
        const Folder folder;
        const Outcome outcome = run_attacked(folder, std::chrono::microseconds(random() % 150'000),
                                             [&] { attack.run(folder.path / "x.umtrace"); });
        BOOST_TEST(outcome.status == 0, attack.name << ": " << outcome.err);
        BOOST_TEST(outcome.out == alone());
        BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
        BOOST_TEST(segments_of(pid_in(folder)) == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_disk_that_others_fill_changes_nothing) {
    const Folder probe;
    const std::string mount = "mkdir -p small; mount -t tmpfs -o size=2500k none small";
    if (run(probe, "unshare -rm sh -c '" + mount + "'").status != 0) {
        BOOST_TEST_MESSAGE("no file system of one's own can be mounted here");
        return;
    }
    for (const char* wait : {"0", "0.02", "0.05", "0.1"}) {
        const Folder folder;
        const Outcome outcome = run_sim(
            folder,
            "unshare -rm sh -c '" + mount + "; { sleep " + wait +
                "; cat /dev/zero > small/fill 2>/dev/null; } & UMADVISOR_OUTPUT=small/x.umtrace LD_PRELOAD=" +
                shim + " " + load + "; status=$?; cat /proc/sysvipc/shm > segments; wait; " + advisor +
                " report --json small/x.umtrace > report.json 2> report.err; exit $status'");
        BOOST_TEST(outcome.status == 0, outcome.err);
        BOOST_TEST(outcome.out == alone());
        BOOST_TEST(lines(outcome.err) <= 2u, outcome.err); // that it is full, and where it is
        if (outcome.err.find("nothing is recorded") != std::string::npos)
            continue; // it was full before the trace was begun
        const auto found = Json::parse(read(folder / "report.json"));
        // All that was taken had its room: nothing waits in memory for more.
        BOOST_TEST(count_segments(found.at("process").at("pid"), read_segments(folder / "segments")) == 0);
        for (const auto& calls : found.at("calls"))
            if (calls.at("entry") == "cuLaunchKernel")
                BOOST_TEST(calls.at("count") == 4 * 40 * 400);
    }
}

BOOST_AUTO_TEST_CASE(a_killed_program_leaves_its_records_and_no_segment) {
    std::mt19937 random(11);
    for (int read_traces = 0, round = 0; read_traces < 5; ++round) {
        BOOST_TEST_REQUIRE(round < 50);
        const Folder folder;
        run_attacked(folder, std::chrono::microseconds(random() % 150'000),
                     [&] { kill(pid_in(folder), SIGKILL); });
        if (fs::file_size(folder / "x.umtrace") == 0) // on a busy machine it may not have begun to write
            continue;
        ++read_traces;
        const auto found = report(folder);
        BOOST_TEST(holds(found.at("completeness"),
                         {{"chunks_missing", 0}, {"chunks_lost", 0}, {"chunks_damaged", 0}}));
        BOOST_TEST(segments_of(pid_in(folder)) == 0);
        const std::string first = run(folder, advisor + " dump --json x.umtrace | md5sum").out;
        BOOST_TEST(run(folder, advisor + " dump --json x.umtrace | md5sum").out == first);
    }
}

BOOST_AUTO_TEST_CASE(run_leaves_no_segment_even_when_it_is_quiet) {
    const Folder folder;
    const Outcome outcome = run_sim(folder, advisor + " run -q -o x.umtrace -- sh -c 'echo $$ > pid; exec " +
                                                programs + "/unruly _exit'");
    BOOST_TEST(outcome.status == 5, outcome.err);
    BOOST_TEST(segments_of(pid_in(folder)) == 0);
    // Of a trace that was never read, either, when it is replaced.
    run_sim(folder, "UMADVISOR_OUTPUT=y.umtrace LD_PRELOAD=" + shim + " sh -c 'echo $$ > pid; exec " +
                        programs + "/unruly _exit'");
    BOOST_TEST(segments_of(pid_in(folder), 1) == 1);
    run_sim(folder, advisor + " run -q -f -o y.umtrace -- " + programs + "/unruly _exit");
    BOOST_TEST(segments_of(pid_in(folder)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

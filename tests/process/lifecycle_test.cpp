/// How processes begin and end, and what they do to what a trace stands on: each program runs bare and under
/// the shim on simcuda, and must not notice.
#include "unnoticed.hpp"

#include <boost/test/data/test_case.hpp>

#include <map>
#include <set>
#include <unistd.h>

BOOST_FIXTURE_TEST_SUITE(process_lifecycle_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_CASE(calls_beyond_the_size_cap_are_in_the_totals) {
    const Outcome outcome = check_unnoticed(folder, "unruly fill", "UMADVISOR_MAX_SIZE=700KiB");
    BOOST_TEST(lines(outcome.err) == 2u, outcome.err);
    const Json found = report(folder);
    const Json launches = calls_of(found, "cuLaunchKernel");
    BOOST_TEST(launches.at("count") == 400001);
    const std::uint64_t kept = dump(folder, "Launch").size();
    BOOST_TEST(kept > 10000u);
    BOOST_TEST(launches.at("dropped") == 400001 - kept);
    BOOST_TEST(found.at("dropped").at("size_cap") >= 400001 - kept);
    BOOST_TEST(says(found.at("dropped_calls").at(0).at("function"), "count_up"),
               found.at("dropped_calls").dump());
    BOOST_TEST(says(found.at("dropped_calls").at(0).at("line").at("function"), "launch"),
               found.at("dropped_calls").dump());
    std::uint64_t dumped = 0;
    for (const Json& site : dump(folder, "Dropped", {{"entry", "cuLaunchKernel"}}))
        dumped += site.at("count").get<std::uint64_t>();
    BOOST_TEST(dumped == 400001 - kept);
    // First of all, the report says so.
    std::istringstream text(run(folder, advisor + " report x.umtrace").out);
    std::string headline, first, second;
    std::getline(text, headline);
    std::getline(text, first);
    std::getline(text, second);
    BOOST_TEST(says(headline, "dropped"));
    BOOST_TEST(says(first, "size cap"));
    BOOST_TEST(says(second, "by call site"));
}

BOOST_AUTO_TEST_CASE(between_profiler_start_and_stop) {
    const Outcome outcome = check_unnoticed(folder, "part_of_run ranges", "UMADVISOR_CAPTURE_RANGE=1");
    BOOST_TEST(outcome.out == "0 105\n");
    const auto launches = dump(folder, "Launch");
    BOOST_TEST(launches.size() == 20u + 5 + 40);
    for (const Json& launch : launches)
        BOOST_TEST(launch.at("touched").size() == 1u); // what was allocated before is known
    BOOST_TEST(dump(folder, "Sync").empty());
    // Allocations are followed in the pauses too: the memory set is that of the newer one.
    const auto made = dump(folder, "Alloc");
    BOOST_TEST(made.size() == 4u);
    BOOST_TEST(dump(folder, "Free").size() == 1u);
    const auto sets = dump(folder, "Set");
    BOOST_TEST_REQUIRE(sets.size() == 1u);
    BOOST_TEST(sets[0].at("allocation") == made.back().at("allocation"));
    std::string changes;
    for (const Json& pause : dump(folder, "Pause")) {
        changes += pause.at("recording").dump();
        BOOST_TEST(pause.at("cause") == "capture_range");
    }
    BOOST_TEST(changes == "01010");
    const Json process = report(folder).at("process");
    BOOST_TEST(process.at("recorded_ns") > 0);
    BOOST_TEST(process.at("recorded_ns") < process.at("duration_ns"));
    BOOST_TEST(says(run(folder, advisor + " report x.umtrace").out, "· recorded "));
}

BOOST_AUTO_TEST_CASE(without_a_range_all_is_recorded) {
    check_unnoticed(folder, "part_of_run ranges");
    BOOST_TEST(dump(folder, "Launch").size() == 105u);
    BOOST_TEST(dump(folder, "Pause").empty());
    const Json process = report(folder).at("process");
    BOOST_TEST(process.at("recorded_ns") == process.at("duration_ns"));
}

BOOST_AUTO_TEST_CASE(a_delay_and_a_duration) {
    const std::string program = programs + "/part_of_run spin 1.2";
    const Outcome whole = record(folder, program, "--delay 0.3 -d 0.4");
    BOOST_TEST(whole.status == 0, whole.err);
    const auto pauses = dump(folder, "Pause");
    BOOST_TEST_REQUIRE(hold(pauses, {{{"recording", 0}, {"cause", "delay"}},
                                     {{"recording", 1}},
                                     {{"recording", 0}, {"cause", "duration"}}}));
    // A launch was made in each millisecond of 1200; of the 400 recorded, a busy machine may lose many.
    const std::size_t launches = dump(folder, "Launch").size();
    BOOST_TEST(launches > 0u);
    BOOST_TEST(launches < 2 * 400u + 100);
    const std::int64_t from = pauses[1].at("start_ns"), to = pauses[2].at("start_ns");
    int late = 0; // the one that was under way when the part ended
    for (const Json& launch : dump(folder, "Launch")) {
        BOOST_TEST(launch.at("start_ns") >= from);
        late += launch.at("start_ns") > to;
    }
    BOOST_TEST(late <= 1);
}

BOOST_AUTO_TEST_CASE(a_delay_longer_than_the_program) {
    check_unnoticed(folder, "part_of_run ranges", "UMADVISOR_DELAY=100");
    BOOST_TEST(dump(folder, "Launch").empty());
    BOOST_TEST(dump(folder, "Alloc").size() == 4u);
    const Json process = report(folder).at("process");
    BOOST_TEST(process.at("recorded_ns").get<double>() < 0.05 * process.at("duration_ns").get<double>());
}

BOOST_AUTO_TEST_CASE(options_of_a_part_that_cannot_be) {
    for (const char* wrong : {"--delay soon", "-d 1.", "-c nvtx", "--delay -1"})
        check_one_line(run_sim(folder, advisor + " run " + wrong + " -- true"), 2, "");
    const Outcome bad =
        under_shim(folder, "part_of_run ranges", "UMADVISOR_DELAY=soon UMADVISOR_DURATION=1.2.3");
    BOOST_TEST(says(bad.err, "UMADVISOR_DELAY=soon is not understood"));
    BOOST_TEST(says(bad.err, "UMADVISOR_DURATION=1.2.3 is not understood"));
}

BOOST_AUTO_TEST_CASE(a_child_of_a_process_that_had_entered_cuda) {
    {
        const Folder own;
        const Outcome outcome = check_unnoticed(own, "processes refused");
        BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
        BOOST_TEST(traces(own).size() == 1u);
    }
    const Outcome outcome = check_unnoticed(folder, "processes refused", "UMADVISOR_FOLLOW_FORK=1");
    BOOST_TEST(lines(outcome.err) == 4u,
               outcome.err); // the parent, a child, its child, and a child of two threads
    const auto all = traces(folder);
    BOOST_TEST_REQUIRE(all.size() == 4u);
    for (const std::string& trace : all) {
        const Json found = report(folder, trace);
        BOOST_TEST(found.at("completeness").at("complete") == true);
        if (trace == "x.umtrace") {
            BOOST_TEST(calls_of(found, "cuLaunchKernel").at("count") == 40);
            BOOST_TEST(calls_of(found, "cuMemAlloc_v2").at("count") == 0);
            BOOST_TEST(calls_of(found, "cuMemAllocManaged").at("count") == 1);
        } else {
            BOOST_TEST(calls_of(found, "cuLaunchKernel").at("count") == 0);
            const std::uint64_t refused = calls_of(found, "cuMemAlloc_v2").at("count");
            BOOST_TEST((refused == 5 || refused == 6 || refused == 14), refused);
            BOOST_TEST(calls_of(found, "cuMemAlloc_v2").at("failed") == refused);
            BOOST_TEST(found.at("process").at("parent") != 0);
            // Its stacks are its own: modules and frames are defined anew.
            const auto allocs = dump(folder, "Alloc", {}, trace);
            BOOST_TEST(!allocs.empty());
            for (const Json& alloc : allocs)
                BOOST_TEST(alloc.at("stack") != 0);
            BOOST_TEST(says(found.at("allocations").at(0).at("line").at("file"), "processes.cu"),
                       found.at("allocations").dump());
        }
    }
}

BOOST_AUTO_TEST_CASE(ways_to_start_another_program) {
    for (const char* way : {"exec", "spawn", "vfork", "clone"}) {
        const Folder own;
        const Outcome outcome = check_unnoticed(own, std::string("processes ") + way);
        const auto all = traces(own);
        BOOST_TEST(all.size() == 2u, way);
        std::multiset<std::uint64_t> launches;
        for (const std::string& trace : all)
            launches.insert(calls_of(report(own, trace), "cuLaunchKernel").at("count").get<std::uint64_t>());
        BOOST_TEST((launches == std::multiset<std::uint64_t>{3, 20}), way);
        // Without a name given, too, though an exec'ed program has its predecessor's number.
        const Folder unnamed;
        run_sim(unnamed, "LD_PRELOAD=" + shim + " " + programs + "/processes " + way);
        BOOST_TEST(traces(unnamed).size() == 2u, way);
    }
}

BOOST_AUTO_TEST_CASE(handlers_that_use_cuda_at_exit) {
    // quick_exit runs no destructor: nobody closes the trace, and nothing is lost.
    for (const auto& [way, status, launches, closed] :
         {std::tuple{"atexit", 7, 12u, true}, {"quick_exit", 6, 15u, false}})
        BOOST_TEST_CONTEXT(way) {
            const Folder own;
            const Outcome outcome = check_unnoticed(own, std::string("ends ") + way);
            BOOST_TEST(outcome.status == status);
            BOOST_TEST(lines(outcome.err) == (closed ? 1u : 0u), outcome.err);
            const Json found = report(own);
            BOOST_TEST(found.at("completeness").at("closed") == closed);
            BOOST_TEST(found.at("completeness").at("lines").size() == (closed ? 0u : 1u));
            BOOST_TEST(calls_of(found, "cuLaunchKernel").at("count") == launches);
        }
}

BOOST_AUTO_TEST_CASE(a_signal_ends_the_program) {
    const Outcome outcome = check_unnoticed(folder, "ends SIGTERM");
    BOOST_TEST(outcome.status == 128 + 15);
    BOOST_TEST(lacks(outcome.err, "wrote"));
    BOOST_TEST(dump(folder, "Launch").size() == 50u);
    // And for a shell around it, too.
    const Outcome advised = run_sim(folder, advisor + " run -o y.umtrace -- " + programs + "/ends SIGTERM");
    BOOST_TEST(advised.status == 128 + 15, advised.err);
}

BOOST_DATA_TEST_CASE(threads_that_launch_while_the_process_ends, data::xrange(5), round) {
    (void)round;
    const Outcome outcome = check_unnoticed(folder, "ends busy");
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
    const Json found = report(folder);
    BOOST_TEST(found.at("completeness").at("complete") == true, found.at("completeness").dump());
    BOOST_TEST(calls_of(found, "cuLaunchKernel").at("count") >= 504);
}

BOOST_AUTO_TEST_CASE(threads_by_the_thousand) {
    check_unnoticed(folder, "ends threads", "UMADVISOR_MAX_SIZE=32MiB");
    const Json found = report(folder);
    BOOST_TEST(calls_of(found, "cuLaunchKernel").at("count") == 3000);
    BOOST_TEST(calls_of(found, "cuLaunchKernel").at("dropped") == 0);
    BOOST_TEST(found.at("completeness").at("complete") == true, found.at("completeness").dump());
}

BOOST_AUTO_TEST_CASE(another_library_in_the_place_of_one_on_recorded_stacks) {
    check_unnoticed(folder, "ends reload");
    std::set<std::string> firsts;
    for (const Json& module : dump(folder, "Module"))
        if (module.at("path").get<std::string>().find("libreload_") != std::string::npos)
            firsts.insert(module.at("first").get<std::string>());
    if (firsts.size() != 1) // the loader's choice; here it has always been the same place
        BOOST_TEST_MESSAGE("the plug-ins had places of their own");
    int sites = 0;
    const Json found = report(folder);
    for (const Json& site : found.at("allocations")) {
        if (site.at("memory") != "device")
            continue;
        ++sites;
        const bool first = site.at("largest_bytes") == 1 << 20;
        BOOST_TEST(site.at("line").at("function") == (first ? "allocate_first" : "allocate_second"),
                   site.dump());
        BOOST_TEST(site.at("count") == 3);
    }
    BOOST_TEST(sites == 4);
}

BOOST_AUTO_TEST_CASE(limits_lowered_to_almost_nothing) {
    {
        const Folder own;
        check_unnoticed(own, "ends limits");
        BOOST_TEST(calls_of(report(own), "cuLaunchKernel").at("count") == 400010);
    }
    // From the start, few descriptors and a small stack.
    const Outcome outcome =
        run_sim(folder, "ulimit -n 12 -s 300; UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + programs +
                            "/ends plain");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(outcome.out == "0 400000\n");
    BOOST_TEST(calls_of(report(folder), "cuLaunchKernel").at("count") == 400000);
}

BOOST_AUTO_TEST_CASE(a_trace_that_is_deleted_or_out_of_reach) {
    const bool root = geteuid() == 0;
    for (const std::string how : {"deleted", "nobody", "chroot"}) {
        if (how != "deleted" && !root) {
            BOOST_TEST_MESSAGE("only root can do without its rights: " << how << " is not tried");
            continue;
        }
        const Folder own;
        fs::create_directory(own.path / "here");
        fs::permissions(own.path / "here", fs::perms::owner_all);
        const Outcome alone = bare(own, "ends " + how);
        const Outcome watched = run_sim(own, "UMADVISOR_OUTPUT=here/x.umtrace LD_PRELOAD=" + shim + " " +
                                                 programs + "/ends " + how);
        BOOST_TEST(same(watched, alone));
        BOOST_TEST(ends(watched, 0, "the file is gone"));
        BOOST_TEST(says(watched.err, "is not where it was written"));
        BOOST_TEST(lacks(watched.err, "wrote"));
        if (how != "deleted") // what it could not write any more is counted
            BOOST_TEST(calls_of(report(own, "here/x.umtrace"), "cuLaunchKernel").at("count") == 400010);
    }
}

BOOST_AUTO_TEST_CASE(a_disk_that_fills_up) {
    fs::create_directory(folder.path / "small");
    const std::string mount = "mount -t tmpfs -o size=1500k none small";
    if (run(folder, "unshare -rm sh -c '" + mount + "'").status != 0) {
        BOOST_TEST_MESSAGE("no file system of one's own can be mounted here");
        return;
    }
    const Outcome outcome =
        run_sim(folder, "unshare -rm sh -c '" + mount +
                            " && UMADVISOR_OUTPUT=small/x.umtrace LD_PRELOAD=" + shim + " " + programs +
                            "/ends plain && " + advisor + " report --json small/x.umtrace > report.json'");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(outcome.out == "0 400000\n");
    BOOST_TEST(says(outcome.err, "No space left on device"));
    const Json found = Json::parse(read(folder / "report.json"));
    BOOST_TEST(found.at("dropped").at("disk_full") > 0);
    BOOST_TEST(calls_of(found, "cuLaunchKernel").at("count") == 400000);
}

BOOST_AUTO_TEST_CASE(a_child_made_without_the_handlers_of_fork) {
    check_unnoticed(folder, "ends _Fork");
    const Json found = report(folder);
    BOOST_TEST(found.at("completeness").at("complete") == true, found.at("completeness").dump());
    BOOST_TEST(calls_of(found, "cuLaunchKernel").at("count") == 20);
    BOOST_TEST(calls_of(found, "cuMemAlloc_v2").at("count") == 0);
}

/// Before us and behind us in LD_PRELOAD.
BOOST_AUTO_TEST_CASE(other_preloads) {
    std::vector<std::string> others{UMADVISOR_LIBASAN};
    for (const char* name : {"libjemalloc.so.2", "libtcmalloc_minimal.so.4"}) {
        const std::string found = run(Folder(), std::string("cc -print-file-name=") + name).out;
        const std::string path = found.substr(0, found.find('\n'));
        BOOST_TEST(path.front() == '/', name << " is not installed: tools/install-packages --test");
        others.push_back(path);
    }
    for (const std::string& other : others)
        for (const std::string& order : {other + ":" + shim, shim + ":" + other})
            for (const char* scenario : {"unruly threads", "ends reload", "ends atexit", "processes refused"}) {
                // Leaks are not what is asked here, and ASan wants to be first.
                const std::string settings =
                    "export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 UMADVISOR_OUTPUT=x.umtrace; ";
                const Folder own;
                const std::string program = programs + "/" + scenario;
                const Outcome alone = run_sim(own, settings + "LD_PRELOAD=" + other + " " + program);
                const Outcome watched = run_sim(own, settings + "LD_PRELOAD=" + order + " " + program);
                BOOST_TEST_INFO_SCOPE(order << " " << scenario);
                BOOST_TEST(same(watched, alone));
                BOOST_TEST(lacks(watched.err, "Sanitizer"));
                BOOST_TEST(report(own).at("completeness").at("complete") == true);
            }
}

BOOST_AUTO_TEST_CASE(ranges_that_the_program_names) {
    const Outcome alone = bare(folder, "named_ranges");
    const std::string program = programs + "/named_ranges";
    const Outcome watched = record(folder, program);
    BOOST_TEST(watched.status == 0, watched.err);
    BOOST_TEST(watched.out == alone.out);
    std::map<std::uint64_t, std::string> texts;
    for (const Json& text : dump(folder, "String"))
        texts[text.at("id")] = text.at("text");
    std::vector<std::string> ranges;
    std::map<std::uint64_t, int> open;
    for (const Json& range : dump(folder, "Range")) {
        const std::string action = range.at("action");
        ranges.push_back(action + " " + texts[range.at("domain")] + ":" + texts[range.at("text")]);
        if (action == "start")
            BOOST_TEST(++open[range.at("id")] == 1);
        else if (action == "end")
            BOOST_TEST(--open[range.at("id")] == 0);
    }
    const std::vector<std::string> expected{"push :step", "push lib:inner", "mark :here", "push lib:once",
                                            "pop lib:",   "pop lib:",       "start :one", "start lib:other",
                                            "end :",      "end lib:",       "push :",     "pop :",
                                            "pop :",      "push :thread",   "pop :"};
    BOOST_TEST(ranges == expected, boost::test_tools::per_element());
    // Not asked for, or another tool's: nothing.
    for (const char* no : {"UMADVISOR_NVTX=0", "NVTX_INJECTION64_PATH=/no/such/tool.so"}) {
        const Folder other;
        const Outcome outcome =
            run_sim(other, std::string(no) + " " + advisor + " run -o x.umtrace -- " + program);
        BOOST_TEST(outcome.out == alone.out, no);
        BOOST_TEST(dump(other, "Range").empty(), no);
        BOOST_TEST(!dump(other, "Alloc").empty(), no);
    }
}

BOOST_AUTO_TEST_CASE(steps_that_the_program_names) {
    const Outcome watched = record(folder, programs + "/named_steps");
    BOOST_TEST_REQUIRE(watched.status == 0, watched.err);
    const Json all = report(folder);
    BOOST_TEST(calls_of(all, "cuMemcpyHtoD_v2").at("count") == 20);
    BOOST_TEST_REQUIRE(all.at("ranges").size() == 1u);
    const Json steps = all.at("ranges").at(0);
    BOOST_TEST(holds(steps, {{"name", "step"}, {"count", 12}, {"worst_index", 5}}));
    BOOST_TEST(steps.at("worst").at("copy_ns") > 3 * steps.at("median").at("copy_ns").get<double>());
    const std::string text = run(folder, advisor + " report x.umtrace").out;
    BOOST_TEST(says(text, "steps: \"step\" x 12, median "));
    BOOST_TEST(says(text, "(step 5: "));
    const Json inside = Json::parse(run(folder, advisor + " report --json --range step x.umtrace").out);
    BOOST_TEST(inside.at("looked_at").at("count") == 12);
    BOOST_TEST(calls_of(inside, "cuMemcpyHtoD_v2").at("count") == 17);
    BOOST_TEST(calls_of(inside, "cuMemAlloc_v2").at("count") == 0);
    const auto saving = [](const Json& found) {
        double sum = 0;
        for (const Json& finding : found.at("findings"))
            sum += finding.at("saving_ns").get<double>();
        return sum;
    };
    BOOST_TEST(saving(inside) > 0.6 * saving(all), inside.at("findings").dump());
    BOOST_TEST(saving(inside) < 0.95 * saving(all), all.at("findings").dump());
    const Outcome unknown = run(folder, advisor + " report --range steps x.umtrace");
    BOOST_TEST(ends(unknown, 1, "there are: step"));
}

BOOST_AUTO_TEST_CASE(a_plug_in_bound_past_us) {
    for (const std::string way : {"deep", "plain"}) {
        const Folder own;
        check_unnoticed(own, "deep_program " + way);
        const Json found = report(own);
        const std::string text = run(own, advisor + " report x.umtrace").out;
        std::map<std::string, std::set<std::string>> past;
        for (const Json& lookup : found.at("unknown_lookups"))
            past[fs::path(lookup.at("object").get<std::string>()).filename()].insert(
                lookup.at("symbol").get<std::string>());
        if (way == "plain") {
            BOOST_TEST(calls_of(found, "cuMemAlloc_v2").at("count") == 3);
            BOOST_TEST(past.empty(), found.at("unknown_lookups").dump());
            BOOST_TEST(lacks(text, "missed"));
            continue;
        }
        BOOST_TEST(calls_of(found, "cuMemAlloc_v2").at("count") == 1); // the program's own
        BOOST_TEST_REQUIRE(past.size() == 2u, found.at("unknown_lookups").dump());
        BOOST_TEST(past["libdeep_linked.so"].count("cuMemAlloc_v2") == 1u, found.at("unknown_lookups").dump());
        BOOST_TEST((past["libdeep_asking.so"] == std::set<std::string>{"dlsym"}));
        BOOST_TEST(says(text, "look-ups were missed: "));
        BOOST_TEST(says(text, "unknown look-up"));
    }
}

/// A program may make a label for each step of a long run.
BOOST_AUTO_TEST_CASE(labels_without_end_take_no_memory_without_end) {
    const Outcome outcome = record(folder, programs + "/named_ranges many");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(dump(folder, "String").size() == 65536u);
    const std::size_t all = dump(folder, "Range").size();
    BOOST_TEST(all == 2u * (65536 + 1000)); // the ranges themselves are all there
    BOOST_TEST(all - dump(folder, "Range", {{"text", 0}}).size() == 65536u);
    const Json read = report(folder);
    BOOST_TEST(notices(read, "umadvisor keeps no more than 65536 names"));
    BOOST_TEST(notices(read, "1000 times there was no room"));
}

BOOST_AUTO_TEST_SUITE_END()

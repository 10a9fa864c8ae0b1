/// What has killed interposers before: each program runs bare and under the shim on simcuda, and must not
/// notice.
#include "unnoticed.hpp"

#include <boost/test/data/test_case.hpp>

#include <map>
#include <set>

BOOST_FIXTURE_TEST_SUITE(process_hostile_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const char* const settings[] = {"", "UMADVISOR_ACT=prefetch UMADVISOR_DEVICE_TIME=1",
                                "UMADVISOR_ACT=prefetch,rewrite=all,stage,relieve UMADVISOR_DEVICE_TIME=1",
                                "UMADVISOR_STACKS=off UMADVISOR_UM=pagemap"};

/// As part of a command line.
std::string under_shim(const std::string& program) {
    return " UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + program;
}

Json completeness(const Folder& folder, const std::string& trace = "x.umtrace") {
    return report(folder, trace).at("completeness");
}

/// Whether any number of the record is what failed_calls has where answers go.
bool holds_unwritten(const Json& value) {
    if (value.is_structured())
        return std::any_of(value.begin(), value.end(), holds_unwritten);
    if (value.is_string())
        return value.get<std::string>().find("abababab") != std::string::npos;
    return value.is_number_integer() && (value.get<std::uint64_t>() & 0xffff'ffff) == 0xabab'abab;
}

} // namespace

BOOST_AUTO_TEST_CASE(lookups_with_null_arguments) {
    const Outcome outcome = check_unnoticed(folder, "lookups null");
    BOOST_TEST(ends(outcome, 0, "no address: 0 null 0"));
}

BOOST_AUTO_TEST_CASE(each_stream_flag_has_its_own_wrapper) {
    const Outcome outcome = check_unnoticed(folder, "lookups flags");
    BOOST_TEST(outcome.out == "plain and legacy same, legacy and per-thread differ\n0\n0\n2\n");
    BOOST_TEST(hold(dump(folder, "Launch"), {{{"entry", "cuLaunchKernel"}, {"stream", "0x0"}},
                                             {{"entry", "cuLaunchKernel_ptsz"}, {"stream", "0x2"}}}));
}

BOOST_AUTO_TEST_CASE(a_name_with_two_signatures_is_called_by_the_right_one) {
    check_unnoticed(folder, "lookups abis");
    const auto prefetch = [](const char* entry, int bytes) {
        return Json{{"entry", entry}, {"bytes", bytes}, {"location", "device"}, {"status", 0}};
    };
    BOOST_TEST(hold(dump(folder, "Prefetch"),
                    {prefetch("cuMemPrefetchAsync", 1 << 20), prefetch("cuMemPrefetchAsync_v2", 2 << 20)}));
    BOOST_TEST(hold(dump(folder, "Advise"), {{{"entry", "cuMemAdvise"}, {"location", "host"}},
                                             {{"entry", "cuMemAdvise_v2"}, {"location", "device"}}}));
    auto waits = count_by(dump(folder, "Sync"), "entry");
    BOOST_TEST(waits["cuCtxSynchronize"] == 1);
    BOOST_TEST(waits["cuCtxSynchronize_v2"] == 1);
    // What the answered cuGetProcAddress answers is a wrapper too.
    BOOST_TEST(dump(folder, "Free").size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_program_closes_the_driver_library) {
    check_unnoticed(folder, "lookups close");
    BOOST_TEST(dump(folder, "Alloc").size() == 1u);
    BOOST_TEST(dump(folder, "Free").size() == 1u);
}

BOOST_DATA_TEST_CASE(asynchronous_allocations_freed_synchronously_and_the_reverse, data::make(settings),
                     setting) {
    check_unnoticed(folder, "unruly frees", setting);
    std::map<std::string, std::uint64_t> allocated;
    for (const Json& made : dump(folder, "Alloc"))
        allocated[made.at("address")] = made.at("allocation");
    BOOST_TEST(allocated.size() == 3u);
    std::size_t freed = 0;
    for (const Json& free : dump(folder, "Free", {{"status", 0}}))
        if (allocated.count(free.at("address")) != 0) {
            BOOST_TEST(free.at("allocation") == allocated.at(free.at("address")));
            ++freed;
        }
    BOOST_TEST(freed == 3u);
}

BOOST_DATA_TEST_CASE(a_thread_without_a_context, data::make(settings), setting) {
    check_unnoticed(folder, "no_context", setting);
    BOOST_TEST(completeness(folder).at("complete") == true);
}

BOOST_DATA_TEST_CASE(captures_hold_what_the_program_put_there, data::make(settings), setting) {
    const Outcome outcome = check_unnoticed(folder, "capture_program", setting);
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(times(outcome.out, "end: 0,") == 3u,
               outcome.out); // the program ruins the second capture of each mode
    const auto launches = dump(folder, "Launch");
    BOOST_TEST(launches.size() > dump(folder, "Launch", {{"sample", 0}}).size());
    BOOST_TEST(dump(folder, "Residency", {{"moment", "before_prefetch"}}).empty()); // a capture moves nothing
}

BOOST_DATA_TEST_CASE(every_entry_point_in_and_out_of_captures, data::make(settings), setting) {
    const Outcome outcome = check_unnoticed(folder, "every_entry", setting);
    BOOST_TEST(outcome.status == 0);
    std::size_t recorded = 0;
#define API(symbol, handling) recorded += std::string(#handling) != "counted";
#define API_NEWER(symbol, version, handling) // simcuda is a driver of 13.0
#include "interposer/driver_api.def"
    BOOST_TEST(recorded > 300u);
    BOOST_TEST(lines(outcome.out) == 4 * recorded); // outside, and in three modes
    BOOST_TEST(completeness(folder).at("complete") == true);
}

BOOST_DATA_TEST_CASE(answers_of_calls_that_fail_are_never_read,
                     data::make({"", "UMADVISOR_ACT=prefetch,stage,relieve UMADVISOR_DEVICE_TIME=1",
                                 "UMADVISOR_STACKS=off UMADVISOR_UM=pagemap"}),
                     setting) {
    const Outcome outcome = check_unnoticed(folder, "failed_calls", setting);
    BOOST_TEST(outcome.status == 0);
    std::istringstream text(run(folder, advisor + " dump --json x.umtrace").out);
    std::size_t failed = 0;
    for (std::string line; std::getline(text, line);) {
        const Json record = Json::parse(line);
        if (record.value("status", 0) != 999)
            continue;
        ++failed;
        BOOST_TEST(!holds_unwritten(record), line);
    }
    BOOST_TEST(failed > 500u); // most calls have a record, refused or not
}

BOOST_AUTO_TEST_CASE(forked_children_leave_the_trace_alone) {
    const Outcome outcome = check_unnoticed(folder, "unruly fork");
    BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
    BOOST_TEST(traces(folder).size() == 1u);
    BOOST_TEST(completeness(folder).at("complete") == true);
    BOOST_TEST(dump(folder, "Launch").size() == 30u);
    BOOST_TEST(dump(folder, "Alloc").size() == 1u);
}

BOOST_AUTO_TEST_CASE(children_that_enter_cuda_have_their_own_traces) {
    const Outcome outcome = check_unnoticed(folder, "unruly fork-first");
    BOOST_TEST(lines(outcome.err) == 3u, outcome.err);
    std::multiset<std::size_t> launches;
    for (const std::string& trace : traces(folder)) {
        launches.insert(dump(folder, "Launch", {}, trace).size());
        BOOST_TEST(completeness(folder, trace).at("complete") == true);
    }
    BOOST_TEST((launches == std::multiset<std::size_t>{5, 10, 11}));
}

BOOST_AUTO_TEST_CASE(workers_that_enter_cuda_at_once_have_their_own_traces) {
    const Outcome outcome = check_unnoticed(folder, "processes together");
    BOOST_TEST(outcome.out == "together 0\n");
    BOOST_TEST(outcome.err == "");
    BOOST_TEST(traces(folder).size() == 16u);
}

BOOST_DATA_TEST_CASE(the_programs_signals_are_its_own, data::make(settings), setting) {
    const Outcome outcome = check_unnoticed(folder, "unruly signals", setting);
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(lacks(outcome.out, "foreign"));
    BOOST_TEST(says(outcome.out, "blocked 0"));
    BOOST_TEST(dump(folder, "Launch").size() == 200u);
}

BOOST_DATA_TEST_CASE(memory_freed_by_destructors_after_main, data::make(settings), setting) {
    const Outcome outcome = check_unnoticed(folder, "unruly late", setting);
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
    BOOST_TEST(completeness(folder).at("complete") == true);
    // By then the driver is gone, and the runtime says so without asking it.
    BOOST_TEST(outcome.out == "late 4\n");
    BOOST_TEST(dump(folder, "Launch").size() == 20u);
}

BOOST_DATA_TEST_CASE(programs_that_end_without_leave, data::make({"_exit", "abort"}), way) {
    const Outcome outcome = check_unnoticed(folder, std::string("unruly ") + way);
    BOOST_TEST(outcome.status == (std::string(way) == "abort" ? 128 + 6 : 5));
    BOOST_TEST(lacks(outcome.err, "wrote"));
    BOOST_TEST(completeness(folder).at("closed") == false);
    BOOST_TEST(dump(folder, "Launch").size() == 50u);
}

BOOST_AUTO_TEST_CASE(threads_by_the_hundred) {
    check_unnoticed(folder, "unruly threads");
    const auto launches = dump(folder, "Launch");
    BOOST_TEST(launches.size() == 3000u);
    std::set<std::uint64_t> threads;
    for (const Json& launch : launches)
        threads.insert(launch.at("thread").get<std::uint64_t>());
    BOOST_TEST(threads.size() == 300u);
    BOOST_TEST(completeness(folder).at("complete") == true);
}

BOOST_AUTO_TEST_CASE(descriptors_closed_and_directory_changed) {
    const Outcome outcome = check_unnoticed(folder, "unruly close");
    BOOST_TEST(outcome.err == "");
    BOOST_TEST(read(folder / "below/stderr") == "mine alone\n");
    BOOST_TEST(traces(folder).size() == 1u);
    BOOST_TEST(completeness(folder).at("complete") == true);
    BOOST_TEST(says(report(folder).at("launches").dump(), "401000"));
}

BOOST_AUTO_TEST_CASE(no_room_for_the_trace) {
    const std::string program = programs + "/unruly fill";
    const Outcome bare = run_sim(folder, program);
    const Outcome cut = run_sim(folder, under_shim(program));
    BOOST_TEST(same(cut, bare));
    BOOST_TEST(lines(cut.err) == 2u, cut.err);
    BOOST_TEST(says(cut.err, "is full"));
    BOOST_TEST(says(report(folder).at("dropped").dump(), "disk"));
    fs::remove(folder.path / "x.umtrace");
    const Outcome none =
        run_sim(folder, "UMADVISOR_OUTPUT=/dev/full/x.umtrace LD_PRELOAD=" + shim + " " + program);
    BOOST_TEST(same(none, bare));
    BOOST_TEST(lines(none.err) == 1u, none.err);
    BOOST_TEST(says(none.err, "nothing is recorded"));
    BOOST_TEST(traces(folder).empty());
}

BOOST_AUTO_TEST_CASE(an_entry_point_newer_than_the_shim) {
    const std::string program = sim + "pinned_copies";
    BOOST_TEST(same(run_sim(folder, under_shim(program), "-odd"), run_sim(folder, program, "-odd")));
    std::set<std::string> unknown;
    const Json found = report(folder);
    for (const Json& lookup : found.at("unknown_lookups"))
        unknown.insert(lookup.at("symbol").get<std::string>());
    BOOST_TEST((unknown == std::set<std::string>{"cuMemAlloc", "cuMemcpyHtoD"}));
}

BOOST_AUTO_TEST_CASE(a_program_linked_with_the_driver) {
    const Outcome outcome = check_unnoticed(folder, "linked_program");
    BOOST_TEST(outcome.out == "0\n0\n0\n0\n0\n0\n0 0 0\nmissing\n");
    std::multiset<std::uint64_t> sizes;
    for (const Json& made : dump(folder, "Alloc"))
        sizes.insert(made.at("bytes").get<std::uint64_t>());
    BOOST_TEST((sizes == std::multiset<std::uint64_t>{1 << 16, 2 << 16, 3 << 16}));
    BOOST_TEST(dump(folder, "Free").size() == 3u);
}

BOOST_AUTO_TEST_CASE(weak_symbols_of_the_driver) {
    // The driver is brought in by another preload, so the weak symbols are bound.
    const std::string program = programs + "/weak_program", driver = simcuda + "/libcuda.so.1";
    const Outcome bare = run_sim(folder, "LD_PRELOAD=" + driver + " " + program);
    const Outcome watched =
        run_sim(folder, "UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + ":" + driver + " " + program);
    BOOST_TEST(bare.out == "there\n0\n201\n");
    BOOST_TEST(same(watched, bare));
    BOOST_TEST(dump(folder, "Alloc").size() == 1u);
    const Outcome none = run(folder, program + " none");
    const Outcome still_none = run(folder, "LD_PRELOAD=" + shim + " " + program + " none");
    BOOST_TEST(none.out == "missing\nmissing\nsaid so\nno CUDA\n");
    BOOST_TEST(same(still_none, none));
    BOOST_TEST(still_none.err == "");
}

BOOST_AUTO_TEST_CASE(a_program_built_with_the_address_sanitizer) {
    for (const std::string scenario : {"frees", "threads", "late"})
        for (const std::string& preload : {"LD_PRELOAD=" UMADVISOR_LIBASAN ":" + shim,
                                           "ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" + shim +
                                               ":" UMADVISOR_LIBASAN}) { // before us, and behind us
            const std::string program = " " + programs + "/unruly_asan " + scenario;
            const Outcome bare = run_sim(folder, program);
            const Outcome watched =
                run_sim(folder, "UMADVISOR_FORCE=1 UMADVISOR_OUTPUT=x.umtrace " + preload + program);
            BOOST_TEST(bare.status == 0, bare.err);
            BOOST_TEST(same(watched, bare));
            BOOST_TEST(lacks(watched.err, "Sanitizer"));
            BOOST_TEST(dump(folder, "Alloc").size() > 0u);
        }
}

BOOST_AUTO_TEST_SUITE_END()

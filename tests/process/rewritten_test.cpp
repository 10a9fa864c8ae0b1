/// `--act rewrite=...`: programs whose device memory is managed must not see a difference but the room they
/// have; and what was refused is told.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_FIXTURE_TEST_SUITE(process_rewritten_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string program = programs + "/rewritten_memory ";

Outcome run_rewritten(const Folder& folder, const std::string& act, const std::string& what,
                      const std::string& before = "") {
    return run_acted(folder, program + what, act, before);
}

/// The same, and the program does not see it.
Outcome rewrite_unseen(const Folder& folder, const std::string& what, const std::string& before = "",
                       const std::string& before_bare = "", const std::string& act = "rewrite=all") {
    return run_unseen(folder, program + what, act, before, before_bare);
}

/// Allocations that succeeded, by what made them.
struct Counts {
    std::size_t rewritten = 0, left = 0;
};
Counts counts(const Folder& folder) {
    Counts result;
    for (const Json& allocation : dump(folder, "Alloc", {{"status", 0}})) {
        const bool ours = allocation.at("origin") == "umadvisor";
        BOOST_TEST((allocation.at("memory") == "managed") == ours);
        ++(ours ? result.rewritten : result.left);
    }
    return result;
}

void check_counts(const Folder& folder, std::size_t rewritten, std::size_t left) {
    const Counts found = counts(folder);
    BOOST_TEST(found.rewritten == rewritten);
    BOOST_TEST(found.left == left);
}

std::size_t count_reason(const Folder& folder, const std::string& reason) {
    return dump(folder, "Alloc", {{"reason", reason}}).size();
}

/// On stderr, as one line, and in the report.
void check_told(const Folder& folder, const Outcome& outcome, const std::string& text) {
    BOOST_TEST(times(outcome.err, text) == 1u, outcome.err);
    BOOST_TEST(notices(report(folder), text));
}

const std::string card = "SIMCUDA_CONFIG=capacity=64M";

} // namespace

BOOST_DATA_TEST_CASE(nothing_is_seen_of_it,
                     data::make({"one_block", "frees", "pools", "rows", "info", "capture"}), what) {
    rewrite_unseen(folder, what);
    BOOST_TEST(counts(folder).rewritten > 0u);
}

/// Of each way to leave a capture without an end: how many allocations come while something is captured, and
/// how many come later.
BOOST_DATA_TEST_CASE(captures_that_never_end_hold_nothing_up,
                     data::make({"stream", "graph", "context", "reset", "release", "green", "handle",
                                 "failures", "refused_end", "one_of_two"}) ^
                         data::make({0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 1u, 2u}),
                     way, captured) {
    run_unseen(folder, programs + "/lost_captures " + way, "rewrite=all");
    check_counts(folder, 1, captured);
}

BOOST_AUTO_TEST_CASE(stream_ordered_memory_comes_from_managed_pools) {
    run_rewritten(folder, "rewrite=all", "frees");
    check_counts(folder, 3, 0);
    BOOST_TEST(dump(folder, "Advise").size() == 1u); // the pool has placed the others
    run_rewritten(folder, "rewrite=all", "pools");
    check_counts(folder, 9, 3); // of a pool with a limit, which managed ones cannot have
    run_rewritten(folder, "rewrite=2M+", "frees");
    BOOST_TEST(counts(folder).rewritten == 0u);
    // Nor is there a budget for those.
    rewrite_unseen(folder, "limited_pool", "", "", "rewrite=all --budget 1M");
}

/// Those that are made before it has one, and those after; and its end is that of its twin.
BOOST_AUTO_TEST_CASE(settings_of_a_pool_hold_for_its_twin) {
    run_rewritten(folder, "rewrite=all", "pools", "SIMCUDA_REPORT=sim.json");
    const Json calls = driver_report(folder).at("calls");
    BOOST_TEST(calls.at("cuMemPoolCreate") == 2u + 2u); // by the program, and for two of its pools
    BOOST_TEST(calls.at("cuMemPoolSetAttribute") == 12u + (4u + 1u) + 3u + (4u + 1u));
    BOOST_TEST(calls.at("cuMemPoolTrimTo") == 4u + 3u);
    BOOST_TEST(calls.at("cuMemPoolDestroy") == 1u + 2u);
}

BOOST_AUTO_TEST_CASE(a_driver_without_managed_pools_keeps_stream_ordered_memory) {
    rewrite_unseen(folder, "frees", "SIMCUDA_CONFIG=fail=cuMemPoolCreate:0:1");
    check_counts(folder, 1, 2);
    BOOST_TEST(notices(report(folder), "the driver makes no managed pool"));
}

/// What no longer fits comes from a pool that prefers no device.
BOOST_AUTO_TEST_CASE(stream_ordered_memory_beyond_the_card_is_not_placed_there) {
    const Outcome larger = run_rewritten(folder, "rewrite=all --budget 80M", "fill 12 8 ordered",
                                         card + " SIMCUDA_REPORT=sim.json");
    BOOST_TEST(larger.out == "10 blocks, then 2, right 1\nfree 0 MiB\n", larger.err);
    BOOST_TEST(counts(folder).rewritten == 10u);
    BOOST_TEST(driver_report(folder).at("calls").at("cuMemPoolCreate") ==
               2u); // for what fits, and for what does not
    const Outcome spilled = run_rewritten(folder, "rewrite=spill", "fill 12 8 ordered", card);
    BOOST_TEST(spilled.out == "12 blocks, then 0, right 1\nfree 0 MiB\n", spilled.err);
    BOOST_TEST(count_reason(folder, "spill") == 4u);
    BOOST_TEST(dump(folder, "Prefetch").size() == 0u);
}

BOOST_AUTO_TEST_CASE(rows_are_rewritten) {
    run_rewritten(folder, "rewrite=all", "rows");
    check_counts(folder, 12, 0);
}

BOOST_AUTO_TEST_CASE(what_is_smaller_than_asked_for_is_left_alone) {
    for (const auto& [act, rewritten] : {std::pair{"rewrite=2M+", 4u}, {"rewrite=2097153+", 0u}}) {
        rewrite_unseen(folder, "info", "", "", act);
        BOOST_TEST(counts(folder).rewritten == rewritten, act);
    }
}

BOOST_AUTO_TEST_CASE(all_memory_ends_where_the_card_does) {
    const Outcome bare = run_bare(folder, program + "fill 12 8", card);
    BOOST_TEST(bare.out == "8 blocks, then 2, right 1\nfree 0 MiB\n");
    const Outcome rewritten = rewrite_unseen(folder, "fill 12 8", card, card);
    BOOST_TEST(counts(folder).rewritten == 8u);
    BOOST_TEST(count_reason(folder, "budget") == 1u);
    check_told(folder, rewritten, "no more than 64 MiB");
    const Outcome smaller = run_rewritten(folder, "rewrite=all --pretend-memory 32M", "fill 12 8", card);
    BOOST_TEST(smaller.out == "4 blocks, then 2, right 1\nfree 0 MiB\n");
}

BOOST_AUTO_TEST_CASE(a_budget_is_kept) {
    const Outcome larger = run_rewritten(folder, "rewrite=all --budget 80M", "fill 12 8", card);
    BOOST_TEST(larger.out == "10 blocks, then 2, right 1\nfree 0 MiB\n");
    const Outcome spilled = run_rewritten(folder, "rewrite=spill --budget 16M", "fill 12 8", card);
    BOOST_TEST(spilled.out == "10 blocks, then 2, right 1\nfree 0 MiB\n");
    BOOST_TEST(count_reason(folder, "spill") == 2u);
    check_told(folder, spilled, "no more than 16 MiB");
}

BOOST_AUTO_TEST_CASE(what_finds_no_room_is_spilled) {
    const Outcome roomy = run_rewritten(folder, "rewrite=spill", "fill 12 8");
    BOOST_TEST(counts(folder).rewritten == 0u);
    const Outcome spilled = run_rewritten(folder, "rewrite=spill", "fill 12 8", card);
    BOOST_TEST(spilled.out == "12 blocks, then 0, right 1\nfree 0 MiB\n", spilled.err);
    BOOST_TEST(counts(folder).rewritten == 4u);
    BOOST_TEST(count_reason(folder, "spill") == 4u);
    // Whatever the driver had no room for: it is not brought to the card all the same.
    const Outcome elsewhere =
        run_rewritten(folder, "rewrite=spill", "fill 4 8", card + ",fail=cuMemAlloc_v2:2:2");
    BOOST_TEST(elsewhere.out.starts_with("4 blocks, then 0, right 1\n"), elsewhere.out);
    BOOST_TEST(counts(folder).rewritten == 1u);
    BOOST_TEST(dump(folder, "Advise").size() == 0u);
    BOOST_TEST(dump(folder, "Prefetch").size() == 0u);
    rewrite_unseen(folder, "rows", "SIMCUDA_CONFIG=capacity=1M", "", "rewrite=spill");
    BOOST_TEST(counts(folder).left == 12u);
}

BOOST_AUTO_TEST_CASE(rows_that_find_no_room_are_spilled) {
    const Outcome spilled = run_rewritten(folder, "rewrite=spill", "rows_beside 8 8", card);
    BOOST_TEST(spilled.out == "rows 0\npitch 40448 works 1\n", spilled.err);
    BOOST_TEST(count_reason(folder, "spill") == 1u);
}

/// It lasts as long as the graph, which nobody here is told the end of.
BOOST_DATA_TEST_CASE(memory_of_graphs_fills_no_card, data::make({"rewrite=all", "rewrite=spill"}), act) {
    rewrite_unseen(folder, "graphs 12 8", card, card, act);
    rewrite_unseen(folder, "graphs 12 8", "", card, std::string(act) + " --pretend-memory 64M");
}

/// A preferred location keeps the driver from its own relief.
BOOST_DATA_TEST_CASE(what_is_left_alone_takes_places_back_too,
                     data::make({"crowd 5 20", "crowd_mapped 5 10"}) ^
                         data::make({"crowd 5 40", "crowd_mapped 5 15"}),
                     fits, too_much) {
    run_rewritten(folder, "rewrite=4M+ --budget 1G", fits, card);
    BOOST_TEST(dump(folder, "Advise").size() == 5u);
    run_rewritten(folder, "rewrite=4M+ --budget 1G", too_much, card);
    std::map<int, std::size_t> given;
    for (const Json& advice : dump(folder, "Advise"))
        ++given[advice.at("advice")];
    BOOST_TEST(given.size() == 2u);
    for (const auto& [advice, count] : given)
        BOOST_TEST(count == 5u, advice);
    BOOST_TEST(notices(report(folder), "preferred locations were taken back"));
}

BOOST_AUTO_TEST_CASE(a_device_that_does_not_tell_its_memory_is_left_alone) {
    const std::string untold = card + ",fail=cuDeviceTotalMem_v2:0:719";
    const Outcome rewritten = rewrite_unseen(folder, "fill 12 8", untold, untold);
    BOOST_TEST(counts(folder).rewritten == 0u);
    check_told(folder, rewritten, "--act is refused");
}

BOOST_AUTO_TEST_CASE(a_pretended_card_is_full_too) {
    const Outcome spilled = run_rewritten(folder, "rewrite=spill --pretend-memory 32M", "fill 12 8", card);
    BOOST_TEST(spilled.out == "12 blocks, then 0, right 1\nfree 0 MiB\n", spilled.err);
    BOOST_TEST(counts(folder).rewritten == 8u);
}

/// The program that the GPU suite runs.
BOOST_AUTO_TEST_CASE(a_program_that_fills_the_card_goes_on) {
    const std::string fill = sim + "fill_card";
    const std::string spill = "rewrite=spill --pretend-memory 128M";
    run_unseen(folder, fill, spill);
    BOOST_TEST(count_reason(folder, "spill") == 8u);
    const Outcome ended = run_acted(folder, fill, spill + " --budget 64M");
    BOOST_TEST(ended.out.starts_with("blocks 6\n"), ended.out);
    BOOST_TEST(ended.status == 0, ended.err);
}

BOOST_AUTO_TEST_CASE(while_a_stream_captures_nothing_is_rewritten) {
    run_rewritten(folder, "rewrite=all", "capture");
    check_counts(folder, 1, 1);
    BOOST_TEST(notices(report(folder), "while a stream captures"));
}

BOOST_AUTO_TEST_CASE(sharing_ends_it) {
    BOOST_TEST(run_bare(folder, program + "share").out == "share 0\nshare another 0\n");
    const Outcome rewritten = run_rewritten(folder, "rewrite=all", "share");
    BOOST_TEST(rewritten.out == "share 1\nshare another 0\n");
    check_told(folder, rewritten, "--act rewrite is switched off");
    BOOST_TEST(notices_line(report(folder), "--act rewrite is switched off", "rewritten_memory.cpp"));
}

BOOST_DATA_TEST_CASE(what_transports_allocate_is_left_alone,
                     data::make({"nccl", "mpi", "ucp", "ucm", "uct", "nvshmem"}), name) {
    fs::create_symlink(programs + "/plugins/libtransport_plugin.so",
                       folder / ("lib" + std::string(name) + ".so.2"));
    const std::string what = "through ./lib" + std::string(name) + ".so.2";
    Outcome expected = run_bare(folder, program + what);
    const Outcome rewritten = run_rewritten(folder, "rewrite=all", what);
    check_counts(folder, 1, 1);
    // They are told the truth, the program what it would be of device memory.
    expected.out.replace(expected.out.find("there: 0 0"), 10, "there: 1 0");
    BOOST_TEST(same(rewritten, expected));
    BOOST_TEST(notices(report(folder), "is left to the driver"));
}

BOOST_AUTO_TEST_CASE(what_other_libraries_allocate_is_rewritten) {
    run_rewritten(folder, "rewrite=all", "through " + programs + "/plugins/libtransport_plugin.so");
    BOOST_TEST(counts(folder).rewritten == 2u);
}

BOOST_DATA_TEST_CASE(one_process_of_several_is_left_alone,
                     data::make({"WORLD_SIZE=2", "OMPI_COMM_WORLD_SIZE=4", "PMI_SIZE=2", "PMIX_SIZE=2",
                                 "MV2_COMM_WORLD_SIZE=2", "SLURM_PROCID=0 SLURM_NTASKS=2",
                                 "UMADVISOR_STACKS=off"}),
                     environment) {
    const auto run = [&](const char* act) {
        const Outcome outcome = run_rewritten(folder, act, "one_block", environment);
        if (fs::exists(folder / "x.0.umtrace")) // of a rank that the environment names
            fs::rename(folder / "x.0.umtrace", folder / "x.umtrace");
        return outcome;
    };
    const Outcome bare = run_bare(folder, program + "one_block");
    const Outcome refused = run("rewrite=all");
    BOOST_TEST(refused.out == bare.out);
    BOOST_TEST(counts(folder).rewritten == 0u);
    check_told(folder, refused, "--act rewrite is refused");
    const Outcome meant = run("rewrite=all,rewrite=all");
    BOOST_TEST(same(meant, bare));
    BOOST_TEST(lacks(meant.err, "refused"));
    BOOST_TEST(counts(folder).rewritten == 1u);
}

BOOST_DATA_TEST_CASE(one_process_alone_is_not, data::make({"WORLD_SIZE=1", "SLURM_NTASKS=2", "PMI_SIZE="}),
                     environment) {
    run_rewritten(folder, "rewrite=all", "one_block", environment);
    BOOST_TEST(counts(folder).rewritten == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_is_done_where_nothing_can_be_recorded) {
    const Outcome bare = run_bare(folder, program + "fill 12 8", card);
    const Outcome unrecorded =
        run_bare(folder, program + "fill 12 8",
                 card + " UMADVISOR_ACT=rewrite=spill UMADVISOR_OUTPUT=/proc/x.umtrace LD_PRELOAD=" + shim);
    BOOST_TEST(unrecorded.out == bare.out);
    BOOST_TEST(says(unrecorded.err, "--act is refused"));
}

BOOST_AUTO_TEST_CASE(two_different_rewrites_are_not_understood) {
    const Outcome outcome = run_rewritten(folder, "prefetch,rewrite=all,rewrite=spill", "one_block");
    BOOST_TEST(ends(outcome, 0, "UMADVISOR_ACT=prefetch,rewrite=all,rewrite=spill is not understood"));
    BOOST_TEST(counts(folder).rewritten == 0u);
}

namespace {

/// With --act rewrite=all, `entry` fails at one time and with one answer, then at another.
void compare_failing(const Folder& folder, const std::string& what, const std::string& entry,
                     const std::vector<std::string>& failures) {
    for (const std::string& failure : failures)
        rewrite_unseen(folder, what, card + ",fail=" + entry + failure, card);
}

} // namespace

/// Each driver call that rewriting makes fails: at the first and at a later time, and always.
BOOST_TEST_DECORATOR(*boost::unit_test::label("long"))
BOOST_DATA_TEST_CASE(a_failed_call_is_not_the_programs,
                     data::make({"cuMemAllocManaged", "cuMemAdvise", "cuMemPrefetchAsync", "cuCtxGetDevice",
                                 "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode"}),
                     entry) {
    for (const char* what : {"one_block", "rows", "fill 12 8"})
        compare_failing(folder, what, entry, {":1:719", ":3:2", ":0:719", ":0:2"});
}

/// The calls that stream-ordered memory is rewritten with, of which the program itself makes none here.
BOOST_TEST_DECORATOR(*boost::unit_test::label("long"))
BOOST_DATA_TEST_CASE(a_failed_call_about_pools_is_not_the_programs,
                     data::make({"cuDeviceGetMemPool", "cuDeviceGetDefaultMemPool", "cuMemPoolCreate",
                                 "cuMemPoolGetAttribute", "cuMemPoolSetAttribute", "cuMemAllocFromPoolAsync",
                                 "cuStreamGetCtx", "cuCtxGetCurrent"}),
                     entry) {
    for (const char* what : {"frees", "fill 12 8 ordered"})
        compare_failing(folder, what, entry, {":1:719", ":2:2", ":0:719", ":0:2", ":0:801"});
}

/// The program trims each pool before umadvisor trims its twin, and ends one pool first.
BOOST_DATA_TEST_CASE(a_failed_call_for_a_twin_is_not_the_programs,
                     data::make({"cuMemPoolTrimTo:2", "cuMemPoolTrimTo:4", "cuMemPoolTrimTo:6",
                                 "cuMemPoolDestroy:2", "cuMemPoolDestroy:3"}),
                     call) {
    for (const char* answer : {":719", ":1"}) {
        rewrite_unseen(folder, "pools", std::string("SIMCUDA_CONFIG=fail=") + call + answer);
        BOOST_TEST(counts(folder).rewritten == 9u);
    }
}

/// The program asks about no device.
BOOST_DATA_TEST_CASE(devices_of_which_the_driver_tells_nothing_are_left_alone,
                     data::make({"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute"}), entry) {
    for (const char* what : {"one_block", "pools", "fill 12 8"}) {
        compare_failing(folder, what, entry, {":1:719", ":2:719", ":3:2", ":0:719"});
        BOOST_TEST(counts(folder).rewritten == 0u);
        BOOST_TEST(notices(report(folder), "no device has concurrentManagedAccess"));
    }
}

BOOST_AUTO_TEST_CASE(a_pitch_that_the_driver_does_not_tell_is_left_to_it) {
    for (const std::string failure : {"cuMemAllocPitch_v2:1:719", "cuMemFree_v2:1:719"})
        rewrite_unseen(folder, "rows", "SIMCUDA_CONFIG=fail=" + failure);
}

BOOST_AUTO_TEST_CASE(where_spilling_fails_the_program_is_out_of_memory) {
    rewrite_unseen(folder, "fill 12 8", card + ",fail=cuMemAllocManaged:1:719", card, "rewrite=spill");
    const Outcome unasked = run_rewritten(folder, "rewrite=spill --pretend-memory 32M", "fill 8 8",
                                          card + ",fail=cuMemGetInfo_v2:3:719");
    BOOST_TEST(unasked.status == 0, unasked.err);
}

BOOST_AUTO_TEST_SUITE_END()

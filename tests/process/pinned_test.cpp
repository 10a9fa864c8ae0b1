/// `--act pinned`: programs that pin memory, bare and with it, must not see a difference; and the trace shows
/// what was kept.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>
#include <ostream>
#include <string_view>

BOOST_FIXTURE_TEST_SUITE(process_pinned_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string program = programs + "/pinned_memory ";

/// Blocks that the trace says were kept, and were handed out.
struct Blocks {
    std::size_t kept = 0, reused = 0;
    friend bool operator==(const Blocks&, const Blocks&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Blocks& blocks) {
        return out << blocks.kept << " kept, " << blocks.reused << " reused";
    }
};
Blocks blocks(const Folder& folder) {
    return {dump(folder, "Free", {{"reason", "kept_host"}}).size(),
            dump(folder, "Alloc", {{"reason", "reused_host"}}).size()};
}

Outcome run_pinned_unseen(const Folder& folder, const std::string& what, const std::string& before = "") {
    return run_unseen(folder, program + what, "pinned", "SIMCUDA_REPORT=sim.json " + before);
}

/// The program makes a block of a kind three times before the first is kept.
struct Way {
    const char* program;
    Blocks expected;
    friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.program; }
};
const Way ways[] = {
    {"rounds", {38, 37}},          {"unwaited", {77, 76}}, {"once", {0, 0}},
    {"kinds", {16 * 38, 16 * 37}}, {"wrong", {38, 37}},
};

} // namespace

BOOST_DATA_TEST_CASE(a_program_gets_the_same_from_memory_that_was_kept, data::make(ways), way) {
    run_pinned_unseen(folder, way.program);
    BOOST_TEST(blocks(folder) == way.expected);
}

BOOST_DATA_TEST_CASE(a_program_gets_the_same_of_a_driver_that_works_late,
                     data::make({"rounds", "unwaited", "contexts"}), what) {
    const std::string late = "LD_LIBRARY_PATH='" + simcuda + "-late:" + simcuda + "'";
    run_unseen(folder, program + what, "pinned", late, late);
    BOOST_TEST(blocks(folder).reused > 0u);
}

BOOST_DATA_TEST_CASE(large_blocks_are_touched_by_threads, data::make({"large", "large_child"}), what) {
    run_pinned_unseen(folder, what);
    BOOST_TEST(dump(folder, "Alloc", {{"reason", "touched"}}).size() ==
               (std::string(what) == "large" ? 4u : 1u));
}

BOOST_AUTO_TEST_CASE(with_one_core_large_blocks_are_the_drivers) {
    run_pinned_unseen(folder, "large", "taskset -c 0");
    BOOST_TEST(dump(folder, "Alloc", {{"reason", "touched"}}).empty());
}

BOOST_DATA_TEST_CASE(contexts_captures_and_threads_see_no_difference,
                     data::make({"contexts", "capture", "threads"}), what) {
    run_pinned_unseen(folder, what);
    BOOST_TEST(blocks(folder).reused > 0u);
}

BOOST_AUTO_TEST_CASE(the_driver_makes_and_frees_what_is_not_kept) {
    run_pinned_unseen(folder, "rounds");
    const Json calls = driver_report(folder).at("calls");
    BOOST_TEST(calls.at("cuMemHostAlloc") == 3);
    BOOST_TEST(calls.at("cuMemFreeHost") == 2);
    for (const Json& line : report(folder).at("actions").at("lines"))
        BOOST_TEST(line.at("count") == (line.at("action") == "reuse_host" ? 37 : 38), line);
}

BOOST_AUTO_TEST_CASE(a_context_that_has_failed_gets_the_answers_of_the_driver) {
    run_pinned_unseen(folder, "rounds", "SIMCUDA_CONFIG=fail=cuMemFree_v2:0:719");
    BOOST_TEST(blocks(folder) == (Blocks{0, 0}));
    run_pinned_unseen(folder, "rounds", "SIMCUDA_CONFIG=fail=cuEventQuery:0:719");
    BOOST_TEST(blocks(folder).reused == 0u);
}

/// Of a driver call that only the action makes.
BOOST_DATA_TEST_CASE(calls_of_the_action_may_fail,
                     data::make({"cuCtxGetCurrent", "cuDeviceGetCount", "cuCtxPushCurrent_v2"}) *
                         data::make({"0:719", "9:201"}),
                     entry, failure) {
    for (const char* what : {"rounds", "wrong"})
        run_pinned_unseen(folder, what, std::string("SIMCUDA_CONFIG=fail=") + entry + ":" + failure);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_given_back_when_the_driver_has_no_memory) {
    // The program's second call: the waits of 38 frees are small allocations, too, and there is one beside
    // them.
    run_unseen(folder, program + "refusal", "pinned",
               "SIMCUDA_REPORT=sim.json SIMCUDA_CONFIG=fail=cuMemAlloc_v2:41:2");
    const Json calls = driver_report(folder).at("calls");
    BOOST_TEST(calls.at("cuMemHostAlloc") == 5); // one of them to compare
    BOOST_TEST(calls.at("cuMemFreeHost") == 4);
}

namespace {

const std::string registering = programs + "/registered_memory ";

/// Registrations that the trace says were kept, and were handed out.
Blocks registrations(const Folder& folder) {
    return {dump(folder, "Free", {{"reason", "kept_registration"}}).size(),
            dump(folder, "Alloc", {{"reason", "reused_registration"}}).size()};
}

/// The program registers the memory three times before the first registration is kept. One that has to be ended
/// four times is kept no more.
const Way uses[] = {
    {"rounds", {18, 17}}, {"heap", {18, 17}},   {"once", {0, 0}},         {"copy", {18, 14}},
    {"unmap", {4, 0}},    {"replace", {4, 0}},  {"part", {4, 0}},         {"move", {4, 0}},
    {"empty", {4, 0}},    {"fork", {4, 0}},     {"shared", {0, 0}},       {"ask", {38, 30}},
    {"wrong", {13, 3}},   {"kinds", {152, 76}}, {"contexts", {108, 102}}, {"capture", {37, 35}},
};

} // namespace

BOOST_DATA_TEST_CASE(a_program_sees_no_registration_that_was_kept, data::make(uses), way) {
    run_unseen(folder, registering + way.program, "pinned");
    BOOST_TEST(registrations(folder) == way.expected);
}

BOOST_DATA_TEST_CASE(a_driver_that_works_late_sees_ended_registrations, data::make(uses), way) {
    const std::string late = "LD_LIBRARY_PATH='" + simcuda + "-late:" + simcuda + "'";
    run_unseen(folder, registering + way.program, "pinned", late, late);
    BOOST_TEST(registrations(folder) == way.expected);
}

BOOST_AUTO_TEST_CASE(another_thread_may_end_what_is_kept) {
    run_unseen(folder, registering + "beside", "pinned");
    BOOST_TEST(registrations(folder).reused > 0u);
}

BOOST_AUTO_TEST_CASE(the_driver_makes_and_ends_registrations_that_are_not_kept) {
    run_unseen(folder, registering + "rounds", "pinned", "SIMCUDA_REPORT=sim.json");
    const Json calls = driver_report(folder).at("calls");
    BOOST_TEST(calls.at("cuMemHostRegister_v2") == 3);
    BOOST_TEST(calls.at("cuMemHostUnregister") == 2);
    for (const Json& line : report(folder).at("actions").at("lines"))
        BOOST_TEST(line.at("count") == (line.at("action") == "reuse_registration" ? 17 : 18), line);
}

BOOST_AUTO_TEST_CASE(registrations_of_a_context_that_has_failed_are_the_drivers) {
    run_unseen(folder, registering + "rounds", "pinned", "SIMCUDA_CONFIG=fail=cuMemFree_v2:0:719");
    BOOST_TEST(registrations(folder) == (Blocks{0, 0}));
    run_unseen(folder, registering + "rounds", "pinned", "SIMCUDA_CONFIG=fail=cuEventQuery:0:719");
    BOOST_TEST(registrations(folder).reused == 0u);
}

/// Their kernels would reach the driver's pages, whatever the program maps there.
BOOST_DATA_TEST_CASE(none_is_kept_where_kernels_reach_pageable_memory,
                     data::make({"hmm", "numa", "cdmm", "pool"}), memory) {
    run_unseen(folder, registering + "rounds", "pinned --no-calibrate",
               std::string("SIMCUDA_CONFIG=memory=") + memory);
    BOOST_TEST(registrations(folder) == (Blocks{0, 0}));
}

BOOST_AUTO_TEST_SUITE_END()

/// `--act stage`: programs that copy, bare and staged, must not see a difference; and what was staged is told.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>
#include <optional>
#include <ostream>
#include <string_view>

BOOST_FIXTURE_TEST_SUITE(process_staged_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string program = programs + "/staged_copies ";

Outcome run_staged(const Folder& folder, const std::string& what, const std::string& before = "") {
    return run_acted(folder, program + what, "stage", before);
}

/// The same, and the program does not see it.
Outcome stage_unseen(const Folder& folder, const std::string& what, const std::string& before = "") {
    return run_unseen(folder, program + what, "stage", before);
}

struct Counts {
    std::size_t staged = 0, left = 0;
};

/// Copies that succeeded, of those that are long enough.
Counts counts(const Folder& folder) {
    Counts result;
    for (const Json& copy : dump(folder, "Copy")) {
        if (copy.at("status") != 0)
            continue;
        BOOST_TEST(copy.at("origin") == "program");
        if (copy.at("staged") == 1) {
            ++result.staged;
            BOOST_TEST(copy.at("bytes").get<std::uint64_t>() >= 2u << 20);
            BOOST_TEST(copy.at("captured") == 0);
        } else {
            ++result.left;
        }
    }
    return result;
}

/// A program, and what of its copies is staged and what is left to the driver, where that is the same in each
/// run.
struct Ways {
    const char* program;
    std::optional<Counts> expected = {};
    friend std::ostream& operator<<(std::ostream& out, const Ways& ways) { return out << ways.program; }
};
const Ways all_ways[] = {
    {"synchronous", Counts{9 + 6, 1 + 4}}, // one byte short, each way, and shorter
    {"every_way", Counts{(3 + 2) * 6 * 2, 36}},
    {"rows", Counts{6 * 3, 0}},
    {"contexts", Counts{40, 20}},
    {"threads"},
    {"guarded"},
    {"truncated"},
    {"host_function"},
};

} // namespace

BOOST_DATA_TEST_CASE(copies_bring_the_same, data::make(all_ways), ways) {
    BOOST_TEST(lacks(stage_unseen(folder, ways.program, "SIMCUDA_REPORT=sim.json").out, "different"));
    const Counts found = counts(folder);
    BOOST_TEST(found.staged > 0u);
    if (ways.expected) {
        BOOST_TEST(found.staged == ways.expected->staged);
        BOOST_TEST(found.left == ways.expected->left);
    }
    // A context has one ring, and a longer one after the first GiB.
    if (ways.program == std::string_view("every_way"))
        BOOST_TEST(driver_report(folder).at("calls").at("cuMemHostAlloc") == 2);
}

/// So long that it goes through the cache, where that holds the buffers (stage_plan.hpp); the plan has them
/// large at once, as 1 GiB of other copies would.
BOOST_AUTO_TEST_CASE(long_copies_bring_the_same) {
    std::ofstream(folder / "p.json") << R"({"schema": "umadvisor-plan-1", "stage": [{"bytes": 1073741824}]})";
    run_unseen(folder, program + "long", "stage,plan=p.json");
    BOOST_TEST(counts(folder).staged == 2u);
}

BOOST_AUTO_TEST_CASE(other_memory_is_left_alone) {
    stage_unseen(folder, "other");
    for (const Json& copy : dump(folder, "Copy", {{"staged", 1}})) {
        BOOST_TEST((copy.at("source_memory") == "device" || copy.at("destination_memory") == "device"));
        BOOST_TEST((copy.at("source_memory") == "pageable" || copy.at("destination_memory") == "pageable"));
    }
    BOOST_TEST(counts(folder).staged == 3u); // up, down, down
}

BOOST_AUTO_TEST_CASE(nothing_is_staged_while_the_program_captures) {
    stage_unseen(folder, "capture");
    BOOST_TEST(counts(folder).staged == 2u); // before and after
}

BOOST_DATA_TEST_CASE(children_end_and_get_what_the_driver_says, data::make({"", " --follow-fork"}), option) {
    run_unseen(folder, program + "fork", std::string("stage") + option, "timeout 60");
    BOOST_TEST(counts(folder).staged == 6u);
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_bound_to_a_core_binds_no_other) {
    const Outcome bare = run_bare(folder, program + "bound");
    const Outcome staged = run_staged(folder, "bound");
    BOOST_TEST(ends(staged, bare.status, "bound threads 0"));
    BOOST_TEST(counts(folder).staged == 6u);
}

BOOST_AUTO_TEST_CASE(with_one_core_it_is_refused) {
    BOOST_TEST(says(stage_unseen(folder, "synchronous", "taskset -c 0").err, "one core"));
    BOOST_TEST(notices(report(folder), "one core"));
    BOOST_TEST(counts(folder).staged == 0u);
}

BOOST_AUTO_TEST_CASE(without_pinned_memory_it_is_refused) {
    for (const std::string entry : {"cuMemHostAlloc:0:2", "cuEventCreate:0:2"}) {
        const Outcome staged =
            stage_unseen(folder, "synchronous", "UMADVISOR_DEVICE_TIME=0 SIMCUDA_CONFIG=fail=" + entry);
        BOOST_TEST(says(staged.err, "no pinned memory"));
        BOOST_TEST(notices(report(folder), "no pinned memory"));
        BOOST_TEST(counts(folder).staged == 0u);
    }
}

namespace {

/// Of each copy of a way, in the order of the program: "staged", or why not.
std::vector<std::string> treatments(const Folder& folder, const char* from) {
    std::vector<std::string> all;
    for (const Json& copy : dump(folder, "Copy", {{"source_memory", from}}))
        all.push_back(copy.at("staged") == 1 ? "staged" : copy.at("reason"));
    return all;
}

std::vector<std::string> repeated(std::initializer_list<std::pair<int, const char*>> parts) {
    std::vector<std::string> all;
    for (const auto& [count, what] : parts)
        all.insert(all.end(), static_cast<std::size_t>(count), what);
    return all;
}

const std::string fast_driver = "SIMCUDA_CONFIG=pageable=1000G";

} // namespace

BOOST_AUTO_TEST_CASE(auto_gives_up_calls_where_the_driver_is_faster) {
    run_unseen(folder, program + "rounds", "auto", fast_driver);
    const auto given_up = repeated({{4, "staged"}, {1, "compared"}, {2, "staged"}, {5, "slower_staged"}});
    BOOST_TEST(treatments(folder, "pageable") == given_up, boost::test_tools::per_element());
    BOOST_TEST(treatments(folder, "device") == given_up, boost::test_tools::per_element());
    const Json told = report(folder);
    BOOST_TEST(notices_line(told, "--act stage: copies to the device at one call site ", "staged_copies.cpp"));
    BOOST_TEST(notices_line(told, "--act stage: copies to the host at one call site ", "staged_copies.cpp"));
    BOOST_TEST(!notices(told, "(stack "));
    BOOST_TEST(notices(told, " are left to the driver from now on, which moved "));
}

BOOST_AUTO_TEST_CASE(auto_keeps_calls_where_staging_is_faster) {
    run_acted(folder, program + "rounds", "auto");
    BOOST_TEST(treatments(folder, "pageable") == repeated({{4, "staged"}, {1, "compared"}, {7, "staged"}}),
               boost::test_tools::per_element());
    BOOST_TEST(!notices(report(folder), "--act stage"));
}

BOOST_AUTO_TEST_CASE(work_before_a_copy_counts_for_neither_side) {
    run_acted(folder, program + "rounds", "auto");
    const std::uint64_t set = 8000; // ns that setting the memory takes
    for (const Json& copy : dump(folder, "Copy"))
        BOOST_TEST((copy.at("wait_duration_ns").get<std::uint64_t>() >= set) ==
                       (copy.at("source_memory") == "pageable"),
                   copy.dump());
}

BOOST_AUTO_TEST_CASE(stage_by_name_does_as_it_is_told) {
    run_acted(folder, program + "rounds", "stage", fast_driver);
    BOOST_TEST(treatments(folder, "pageable") == repeated({{12, "staged"}}), boost::test_tools::per_element());
    BOOST_TEST(treatments(folder, "device") == repeated({{12, "staged"}}), boost::test_tools::per_element());
}

/// The driver's own copy fails that was to give the call up: the program gets the answer, and nothing was
/// learned.
BOOST_AUTO_TEST_CASE(a_copy_that_fails_is_held_against_nobody) {
    run_acted(folder, program + "rounds", "auto", fast_driver + ",fail=cuMemcpyHtoD_v2:2:1");
    BOOST_TEST(treatments(folder, "pageable") == repeated({{4, "staged"},
                                                           {1, "compared"},
                                                           {2, "staged"},
                                                           {1, "compared"},
                                                           {2, "staged"},
                                                           {2, "slower_staged"}}),
               boost::test_tools::per_element());
}

/// Each driver call that staging makes fails: once, at the first and at a later time, and always; one of the
/// answers looks like a good one.
BOOST_TEST_DECORATOR(*boost::unit_test::label("long"))
BOOST_DATA_TEST_CASE(a_failed_call_leaves_the_copy_to_the_driver,
                     data::make({"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord",
                                 "cuEventQuery", "cuEventSynchronize", "cuStreamSynchronize", "cuStreamGetCtx",
                                 "cuStreamIsCapturing", "cuCtxGetCurrent", "cuThreadExchangeStreamCaptureMode",
                                 "cuMemHostAlloc", "cuEventCreate", "cuDeviceGetCount", "cuDeviceGet",
                                 "cuDeviceGetAttribute"}),
                     entry) {
    const std::string name = entry;
    for (const std::string failure : {":1:719", ":4:719", ":4:600", ":0:719", ":0:600"}) {
        stage_unseen(folder, "few", "SIMCUDA_CONFIG=fail=" + name + failure);
        if (failure == ":0:719")
            BOOST_TEST((counts(folder).staged < 6) ==
                           (name != "cuThreadExchangeStreamCaptureMode" && !name.starts_with("cuDeviceGet")),
                       name);
    }
}

/// The call that the program made then brings all of them.
BOOST_DATA_TEST_CASE(a_failed_piece_leaves_the_rows_to_the_driver,
                     data::make({"1:719", "4:719", "4:600", "20:2", "80:719"}), failure) {
    stage_unseen(folder, "rows", std::string("SIMCUDA_CONFIG=fail=cuMemcpy2DAsync_v2:") + failure);
    BOOST_TEST(counts(folder).staged == 6u * 3 - 1);
}

/// The driver refuses a ring its third event, and to take back what the ring has.
BOOST_DATA_TEST_CASE(half_a_ring_may_stay, data::make({"cuEventDestroy_v2", "cuMemFreeHost"}), entry) {
    const std::string failing = "UMADVISOR_DEVICE_TIME=0 SIMCUDA_REPORT=sim.json "
                                "SIMCUDA_CONFIG=fail=cuEventCreate:3:2,fail=" +
                                std::string(entry);
    for (const char* failure : {":1:719", ":0:2"}) {
        stage_unseen(folder, "few", failing + failure);
        BOOST_TEST(holds(driver_report(folder).at("calls"), {{"cuEventDestroy_v2", 2}, {"cuMemFreeHost", 1}}));
    }
}

BOOST_AUTO_TEST_CASE(it_is_switched_off_when_calls_keep_failing) {
    run_staged(folder, "synchronous", "SIMCUDA_CONFIG=fail=cuEventRecord:0:719");
    BOOST_TEST(notices(report(folder), "--act stage: switched off after 8 failed actions"));
    BOOST_TEST(counts(folder).staged == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

/// `--act skip`: programs that upload the same bytes again and again, bare and with fewer uploads, must not see
/// a difference.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_FIXTURE_TEST_SUITE(process_skipped_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string program = programs + "/same_uploads ";
const std::string late = "LD_LIBRARY_PATH='" + simcuda + "-late'";

/// Uploads of the program's that were made within the device, and copies of ours.
struct Skipped {
    std::size_t uploads = 0, left = 0, compared = 0;
    std::size_t within = 0, filled = 0;
};

Skipped skipped(const Folder& folder) {
    Skipped result;
    for (const Json& copy : dump(folder, "Copy")) {
        const bool same = copy.at("reason") == "same_bytes";
        if (copy.at("origin") == "umadvisor") {
            BOOST_TEST(same);
            ++(copy.at("source_memory") == "device" ? result.within : result.filled);
        } else if (copy.at("destination_memory") == "device" && copy.at("source_memory") != "device") {
            ++(same ? result.uploads : result.left);
            result.compared += copy.at("reason") == "compared";
        }
    }
    BOOST_TEST(result.within == result.uploads);
    return result;
}

Skipped skip_unseen(const Folder& folder, const std::string& what, const std::string& before = "",
                    const std::string& act = "skip") {
    run_unseen(folder, program + what, act, before);
    return skipped(folder);
}

} // namespace

/// Of 40 uploads the first three are the driver's.
BOOST_DATA_TEST_CASE(the_same_bytes_are_uploaded_no_more,
                     data::make({"pageable", "pinned", "places", "freed", "asynchronous"}), what) {
    const Skipped found = skip_unseen(folder, what);
    BOOST_TEST(found.uploads == 37u);
    BOOST_TEST(found.filled == 1u);
}

BOOST_AUTO_TEST_CASE(each_length_is_an_upload_of_its_own) {
    const Skipped found = skip_unseen(folder, "sizes");
    BOOST_TEST(found.uploads == 34u);
    BOOST_TEST(found.filled == 2u);
}

BOOST_AUTO_TEST_CASE(bytes_that_change_are_uploaded) {
    BOOST_TEST(skip_unseen(folder, "changed").uploads > 10u);
    BOOST_TEST(skip_unseen(folder, "anew").uploads == 6u);
    BOOST_TEST(skip_unseen(folder, "contexts").uploads == 3u * 37);
}

/// No words that are looked at: it has to be compared.
BOOST_AUTO_TEST_CASE(bytes_that_always_change_are_hardly_compared) {
    const Skipped found = skip_unseen(folder, "always");
    BOOST_TEST(found.uploads == 0u);
    BOOST_TEST(found.filled <= 3u);
}

/// From the tenth round on the source is written by work that the upload comes after.
BOOST_DATA_TEST_CASE(sources_that_the_device_writes_are_read_when_they_are_written,
                     data::make({"behind", "legacy", "blocking", "waiting"}) * data::make({false, true}), what,
                     is_late) {
    BOOST_TEST(skip_unseen(folder, what, is_late ? late : "").uploads == 7u);
}

BOOST_DATA_TEST_CASE(a_driver_that_works_late_shows_no_other_order,
                     data::make({"pageable", "pinned", "places", "asynchronous", "threads", "sizes", "changed",
                                 "anew", "captured", "contexts"}),
                     what) {
    skip_unseen(folder, what, late);
}

BOOST_AUTO_TEST_CASE(threads_get_the_same) {
    BOOST_TEST(skip_unseen(folder, "threads").uploads > 2u * 37);
}

BOOST_DATA_TEST_CASE(others_are_left_alone, data::make({"short", "combined"}), what) {
    const Skipped found = skip_unseen(folder, what);
    BOOST_TEST(found.uploads == 0u);
    BOOST_TEST(found.filled == 0u);
}

BOOST_AUTO_TEST_CASE(nothing_is_replaced_in_a_graph) {
    const Skipped found = skip_unseen(folder, "captured");
    BOOST_TEST(found.uploads > 20u);
    for (const Json& copy : dump(folder, "Copy", {{"reason", "same_bytes"}}))
        BOOST_TEST(copy.at("captured") == 0);
}

/// The program gets every block that it would get alone; then less is kept.
BOOST_AUTO_TEST_CASE(memory_is_given_back_when_the_program_needs_it) {
    const std::string small = "SIMCUDA_CONFIG=capacity=100M";
    run_unseen(folder, program + "memory", "skip", small, small);
    BOOST_TEST(skipped(folder).uploads >= 37u);
}

BOOST_AUTO_TEST_CASE(it_comes_before_staging) {
    const Skipped found = skip_unseen(folder, "pageable", "", "stage,skip");
    BOOST_TEST(found.uploads == 37u);
    BOOST_TEST(dump(folder, "Copy", {{"staged", 1}}).size() >= 3u);
}

BOOST_AUTO_TEST_CASE(what_takes_longer_than_the_driver_is_given_up) {
    const Skipped found = skip_unseen(folder, "pageable", "SIMCUDA_CONFIG=pageable=1000000G");
    BOOST_TEST(found.uploads == 3u);
    BOOST_TEST(notices(report(folder), "--act skip: an upload of 3145728 bytes is left to the driver"));
}

BOOST_AUTO_TEST_CASE(the_report_says_what_was_done) {
    run_acted(folder, program + "pageable", "skip");
    BOOST_TEST(says(run_sim(folder, advisor + " report x.umtrace").out,
                    "uploads left out, since the device had the bytes"));
}

BOOST_DATA_TEST_CASE(calls_of_the_mode_may_fail,
                     data::make({"cuMemGetInfo_v2", "cuEventCreate", "cuEventQuery", "cuEventRecord",
                                 "cuEventSynchronize", "cuStreamQuery", "cuStreamGetCtx", "cuCtxGetCurrent",
                                 "cuStreamIsCapturing", "cuMemcpyDtoDAsync_v2", "cuMemcpyHtoDAsync_v2",
                                 "cuStreamDestroy_v2", "cuCtxPushCurrent_v2", "cuEventDestroy_v2"}),
                     entry) {
    for (const char* const failure : {":1:719", ":2:719", ":3:600", ":0:719", ":0:600"})
        run_unseen(folder, program + "pageable", "skip",
                   "UMADVISOR_DEVICE_TIME=0 SIMCUDA_CONFIG=fail=" + std::string(entry) + failure);
}

BOOST_AUTO_TEST_SUITE_END()

/// `--act batch`: programs that upload in small pieces, bare and with fewer calls, must not see a difference.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_FIXTURE_TEST_SUITE(process_batched_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string program = programs + "/upload_runs ";
constexpr auto late = [] { return "LD_LIBRARY_PATH='" + simcuda + "-late'"; };

/// Copies of the program's that were deferred, and calls and pieces that were made in their stead.
struct Batched {
    std::size_t deferred = 0, calls = 0, pieces = 0;
    std::uint64_t deferred_bytes = 0, made_bytes = 0;
};

Batched batched(const Folder& folder) {
    Batched result;
    for (const Json& copy : dump(folder, "Copy", {{"reason", "batched"}})) {
        BOOST_TEST(copy.at("status") == 0);
        const bool own = copy.at("origin") == "umadvisor";
        ++(own ? result.pieces : result.deferred);
        result.calls += own && copy.at("batch").get<int>() <= 1;
        (own ? result.made_bytes : result.deferred_bytes) += copy.at("bytes").get<std::uint64_t>();
    }
    return result;
}

Batched batch_unseen(const Folder& folder, const std::string& what, const std::string& before = "") {
    run_unseen(folder, program + what, "batch", before);
    const Batched result = batched(folder);
    BOOST_TEST(result.made_bytes == result.deferred_bytes);
    return result;
}

} // namespace

BOOST_DATA_TEST_CASE(structures_on_the_stack_become_fewer_calls,
                     data::make({"structs", "structs_close", "structs_again", "structs_behind", "structs_other",
                                 "structs_freed", "structs_made", "structs_wrong", "structs_written",
                                 "structs_mixed", "structs_seen"}),
                     what) {
    const Batched found = batch_unseen(folder, what);
    BOOST_TEST(found.deferred > 0u);
    BOOST_TEST(found.calls > 0u);
    BOOST_TEST(found.calls < found.deferred);
}

BOOST_DATA_TEST_CASE(a_driver_that_works_late_shows_no_other_order_of_structures,
                     data::make({"structs", "structs_close", "structs_again", "structs_behind",
                                 "structs_launched", "structs_other", "structs_freed", "structs_made",
                                 "structs_written", "structs_mixed", "structs_seen"}),
                     what) {
    batch_unseen(folder, what, late());
}

BOOST_AUTO_TEST_CASE(structures_with_a_kernel_after_each_are_left_alone) {
    BOOST_TEST(batch_unseen(folder, "structs_launched").deferred == 0u);
}

BOOST_AUTO_TEST_CASE(close_structures_become_one_piece) {
    const Batched found = batch_unseen(folder, "structs_close");
    BOOST_TEST(found.pieces < found.deferred / 2);
}

BOOST_AUTO_TEST_CASE(structures_are_made_one_by_one_where_the_driver_makes_no_batch) {
    const std::string refusing = "SIMCUDA_CONFIG=fail=cuMemcpyBatchAsync_v2:0:801";
    run_unseen(folder, program + "structs", "batch", refusing);
    const std::vector<Json> copies = dump(folder, "Copy", {{"reason", "batched"}});
    BOOST_TEST(std::any_of(copies.begin(), copies.end(),
                           [](const Json& copy) { return copy.at("entry") == "cuMemcpyHtoDAsync_v2"; }));
}

/// Of 200 copies a round at most 198 are deferred. How many calls they become depends on how the threads run.
BOOST_DATA_TEST_CASE(small_uploads_become_fewer_calls,
                     data::make({"neighbours", "scattered", "reused", "downloaded", "recorded", "counted",
                                 "wrong", "beyond", "freed", "contexts", "threads", "large", "paused"}),
                     what) {
    const Batched found = batch_unseen(folder, what);
    BOOST_TEST(found.deferred > 0u);
    BOOST_TEST(found.calls > 0u);
    BOOST_TEST(found.calls < found.deferred);
}

BOOST_DATA_TEST_CASE(a_driver_that_works_late_shows_no_other_order,
                     data::make({"neighbours", "scattered", "repeated", "downloaded", "legacy", "streams",
                                 "launched", "recorded", "counted", "freed", "large", "paused"}),
                     what) {
    batch_unseen(folder, what, late());
}

BOOST_DATA_TEST_CASE(what_cannot_be_deferred_is_left_alone,
                     data::make({"own", "streams", "launched", "captured", "combined"}), what) {
    BOOST_TEST(batch_unseen(folder, what).deferred == 0u);
}

/// Of 20 rounds of 200 copies.
BOOST_DATA_TEST_CASE(what_gains_nothing_is_given_up, data::make({"repeated", "legacy"}), what) {
    BOOST_TEST(batch_unseen(folder, what).deferred < 2000u);
}

BOOST_AUTO_TEST_CASE(neighbours_become_one_piece) {
    const Batched found = batch_unseen(folder, "neighbours");
    BOOST_TEST(found.pieces < found.deferred / 2);
}

BOOST_AUTO_TEST_CASE(the_report_says_what_was_done) {
    run_acted(folder, program + "scattered", "batch");
    BOOST_TEST(says(run_sim(folder, advisor + " report x.umtrace").out,
                    "small copies that were made together with others"));
}

BOOST_AUTO_TEST_CASE(calls_of_the_mode_may_fail) {
    std::vector<std::string> failures{"cuMemHostAlloc:2:2", "cuEventCreate:2:2", "cuEventCreate:3:2"};
    for (const char* const entry :
         {"cuMemcpyBatchAsync_v2", "cuEventQuery", "cuStreamQuery", "cuCtxGetCurrent", "cuStreamIsCapturing"})
        for (const char* const failure : {":1:719", ":2:719", ":0:800"})
            failures.push_back(std::string(entry) + failure);
    for (const std::string& failure : failures)
        run_unseen(folder, program + "scattered", "batch", "SIMCUDA_CONFIG=fail=" + failure);
}

BOOST_AUTO_TEST_CASE(calls_of_the_mode_for_structures_may_fail) {
    for (const char* const failure :
         {"cuMemHostAlloc:2:2", "cuStreamCreate:2:2", "cuStreamCreate:3:2", "cuEventCreate:1:2",
          "cuEventRecord:1:800", "cuStreamWaitEvent:1:800", "cuMemcpyBatchAsync_v2:1:800",
          "cuMemcpyBatchAsync_v2:0:800", "cuStreamQuery:1:800", "cuStreamQuery:0:800", "cuCtxGetCurrent:0:800"})
        run_unseen(folder, program + "structs", "batch", std::string("SIMCUDA_CONFIG=fail=") + failure);
}

/// Calls that are not recorded make what is deferred all the same.
BOOST_AUTO_TEST_CASE(nothing_is_late_while_nothing_is_recorded) {
    const Outcome bare = run_bare(folder, program + "recorded");
    for (const char* const window : {"--delay 3600", "--duration 0.001"})
        BOOST_TEST(same(run_acted(folder, program + "recorded", std::string("batch ") + window), bare), window);
}

BOOST_AUTO_TEST_SUITE_END()

/// `--act join`: programs that prefetch in slices and repeat advice, bare and with fewer calls, must not see a
/// difference.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_FIXTURE_TEST_SUITE(process_joined_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string program = programs + "/prefetch_slices ";

/// Prefetches of the program's that were deferred, and calls that were made in their stead.
struct Joined {
    std::size_t deferred = 0, made = 0;
    std::uint64_t deferred_bytes = 0, made_bytes = 0;
};

Joined joined(const Folder& folder) {
    Joined result;
    for (const Json& call : dump(folder, "Prefetch", {{"reason", "joined"}})) {
        BOOST_TEST(call.at("status") == 0);
        const bool own = call.at("origin") == "umadvisor";
        ++(own ? result.made : result.deferred);
        (own ? result.made_bytes : result.deferred_bytes) += call.at("bytes").get<std::uint64_t>();
    }
    return result;
}

Joined join_unseen(const Folder& folder, const std::string& what) {
    run_unseen(folder, program + what, "join", "SIMCUDA_REPORT=sim.json");
    const Joined result = joined(folder);
    BOOST_TEST(result.made_bytes == result.deferred_bytes);
    return result;
}

} // namespace

/// Of 64 slices a round at most 62 are deferred. How many calls they become depends on how the threads run.
BOOST_DATA_TEST_CASE(neighbours_are_made_as_one,
                     data::make({"slices", "host", "freed", "resumed", "beyond", "threads"}), what) {
    const Joined found = join_unseen(folder, what);
    BOOST_TEST(found.deferred > 0u);
    BOOST_TEST(found.made > 0u);
    BOOST_TEST(found.made < found.deferred);
}

BOOST_DATA_TEST_CASE(what_does_not_adjoin_is_left_alone, data::make({"apart", "streams"}), what) {
    BOOST_TEST(join_unseen(folder, what).deferred == 0u);
}

BOOST_AUTO_TEST_CASE(a_call_after_each_slice_ends_joining) {
    BOOST_TEST(join_unseen(folder, "queried").deferred < 16u);
}

BOOST_AUTO_TEST_CASE(the_driver_makes_fewer_calls) {
    const auto calls = [&] { return driver_report(folder).at("prefetch_calls").get<int>(); };
    run_bare(folder, program + "slices", "SIMCUDA_REPORT=sim.json");
    BOOST_TEST(calls() == 8 * 65);
    run_acted(folder, program + "slices", "join", "SIMCUDA_REPORT=sim.json");
    BOOST_TEST(calls() < 8 * 32);
    BOOST_TEST(says(run_sim(folder, advisor + " report x.umtrace").out,
                    "prefetches that were made as part of a larger one"));
}

BOOST_AUTO_TEST_CASE(the_same_advice_is_given_once) {
    run_unseen(folder, program + "advice", "join");
    BOOST_TEST(dump(folder, "Advise", {{"reason", "same_advice"}}).size() == 18u);
    run_unseen(folder, program + "turns", "join");
    BOOST_TEST(dump(folder, "Advise", {{"reason", "same_advice"}}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

/// `--act reuse`: programs that free device memory and ask for it again, bare and with it, print the same; and
/// the trace has what was kept.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>
#include <ostream>

BOOST_FIXTURE_TEST_SUITE(process_reused_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string program = programs + "/kept_memory ";

struct Kept {
    const char* scenario;
    std::size_t frees, allocations; ///< that were kept, and that were answered with kept memory
    const char* config = "";
    friend std::ostream& operator<<(std::ostream& out, const Kept& kept) { return out << kept.scenario; }
};
const Kept all[] = {
    {"rounds", 19, 18},
    {"wrong_ends", 14, 12},
    {"phases", 0, 0},               // no size comes back
    {"full", 6, 5, "capacity=64M"}, // half as much is kept after the refusal: less than a block
    {"share", 0, 0},
    {"contexts", 16, 15},
    {"waits", 6, 5},
    {"others", 2, 1},
};

std::size_t records(const Folder& folder, const std::string& record, const std::string& reason) {
    return dump(folder, record, {{"reason", reason}}).size();
}

} // namespace

BOOST_DATA_TEST_CASE(memory_that_comes_back_is_kept, data::make(all), kept) {
    const std::string config = std::string("SIMCUDA_CONFIG=") + kept.config;
    run_unseen(folder, program + kept.scenario, "reuse", config, config);
    BOOST_TEST(records(folder, "Free", "kept_device") == kept.frees);
    BOOST_TEST(records(folder, "Alloc", "reused_device") == kept.allocations);
}

BOOST_AUTO_TEST_CASE(threads_get_memory_of_their_own) {
    run_unseen(folder, program + "threads", "reuse");
    BOOST_TEST(records(folder, "Alloc", "reused_device") > 1000u);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_given_back_when_the_driver_has_no_memory) {
    run_unseen(folder, program + "full", "reuse", "SIMCUDA_CONFIG=capacity=64M", "SIMCUDA_CONFIG=capacity=64M");
    BOOST_TEST(notices(report(folder), "what was kept has been given back"));
}

BOOST_AUTO_TEST_CASE(one_process_of_several_is_left_alone) {
    run_unseen(folder, program + "rounds", "reuse", "WORLD_SIZE=2");
    BOOST_TEST(notices(report(folder), "one process of 2"));
    BOOST_TEST(records(folder, "Free", "kept_device") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

/// A program that lets only some system calls pass once it has started CUDA runs on under the shim as it would
/// alone, and its trace is whole.
#include "unnoticed.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_FIXTURE_TEST_SUITE(process_confined_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const char* const settings[] = {"",
                                "UMADVISOR_ACT=prefetch,relieve UMADVISOR_DEVICE_TIME=1",
                                "UMADVISOR_ACT=stage",
                                "UMADVISOR_ACT=auto",
                                "UMADVISOR_STACKS=off UMADVISOR_UM=pagemap",
                                "UMADVISOR_LAUNCHES=full",
                                "UMADVISOR_MAX_SIZE=1M"};
const char* const filters[] = {"kill", "refuse"};

/// How many launches the program makes, threads' included.
constexpr std::size_t launches = 20 + 20 + 20 + 4 * 20 + 100'000;

} // namespace

BOOST_DATA_TEST_CASE_F(InFolder, a_filter_after_the_start_does_not_notice_the_shim,
                       data::make(filters) * data::make(settings), filter, setting) {
    const Outcome outcome = check_unnoticed(folder, std::string("confined ") + filter, setting);
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(outcome.err == ""); // there is no call to say it with
}

BOOST_DATA_TEST_CASE_F(InFolder, managed_memory_is_watched_with_the_calls_of_its_list,
                       data::make(filters) *
                           data::make({"", "UMADVISOR_UM=pagemap", "UMADVISOR_ACT=rewrite=all",
                                       "UMADVISOR_ACT=prefetch,relieve", "UMADVISOR_ACT=auto"}),
                       filter, setting) {
    BOOST_TEST(check_unnoticed(folder, std::string("confined ") + filter + " managed", setting).status == 0);
}

BOOST_DATA_TEST_CASE_F(InFolder, a_filter_before_the_start_is_asked_nothing_that_debuggers_do,
                       data::make(settings), setting) {
    BOOST_TEST(check_unnoticed(folder, "confined early", setting).status == 0);
}

BOOST_AUTO_TEST_CASE(the_trace_of_a_confined_program_is_whole) {
    BOOST_TEST(under_shim(folder, "confined kill", "UMADVISOR_LAUNCHES=full").status == 0);
    const Json found = report(folder, "x.umtrace");
    BOOST_TEST(found.at("completeness").at("complete") == true);
    BOOST_TEST(found.at("completeness").at("closed") == true);
    BOOST_TEST(dump(folder, "Launch").size() == launches);
    BOOST_TEST(notices(found, "filter of system calls"));
}

BOOST_AUTO_TEST_SUITE_END()

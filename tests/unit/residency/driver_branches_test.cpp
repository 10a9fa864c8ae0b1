#include "residency/driver_branches.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(driver_branches_suite)

using namespace umadvisor::residency;

BOOST_AUTO_TEST_CASE(the_branch_of_a_release) {
    BOOST_TEST(branch_of("580.159.04").number == 580u);
    BOOST_TEST(branch_of("595").number == 595u);
    BOOST_TEST(branch_of("").number == 0u);
    BOOST_TEST(branch_of("r580.1").number == 0u);
    BOOST_TEST(branch_of("58012345678.1").number == 0u);
}

BOOST_AUTO_TEST_CASE(the_queue_is_known_of_listed_branches_alone) {
    BOOST_CHECK(branch_of("580.159.04").queue == ToolsQueue::tested);
    BOOST_CHECK(branch_of("595.71").queue == ToolsQueue::read);
    for (const char* const other : {"560.35", "581.10", "610.10", "615.71.09", "620.1", "580x", ""})
        BOOST_CHECK_MESSAGE(branch_of(other).queue == ToolsQueue::unknown, other);
}

BOOST_AUTO_TEST_CASE(where_coherent_devices_keep_memory_is_as_in_the_branch_before) {
    for (const char* const before : {"550.54", "565.1", "610.10"})
        BOOST_CHECK_MESSAGE(!branch_of(before).cdmm, before);
    for (const char* const after : {"615.71.09", "620.1"})
        BOOST_CHECK_MESSAGE(branch_of(after).cdmm, after);
}

BOOST_AUTO_TEST_SUITE_END()

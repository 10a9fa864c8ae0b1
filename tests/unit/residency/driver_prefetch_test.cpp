#include "residency/driver_prefetch.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(driver_prefetch)

using namespace umadvisor::residency;

namespace {
PageMask granules(unsigned first, unsigned last) {
    return page_range(first * pages_per_granule, last * pages_per_granule);
}
const PageMask whole = page_range(0, pages_per_block);
} // namespace

BOOST_AUTO_TEST_CASE(a_lone_fault_pulls_its_granule) {
    BOOST_TEST((expand_by_driver_prefetch({}, granules(0, 1), whole, 51) == granules(0, 1)));
}

BOOST_AUTO_TEST_CASE(half_a_subtree_is_not_enough) {
    BOOST_TEST((expand_by_driver_prefetch(granules(0, 1), granules(1, 2), whole, 51) == granules(0, 2)));
}

BOOST_AUTO_TEST_CASE(three_quarters_of_a_subtree_pull_the_rest) {
    BOOST_TEST((expand_by_driver_prefetch(granules(0, 2), granules(2, 3), whole, 51) == granules(0, 4)));
}

BOOST_AUTO_TEST_CASE(seventeen_granules_pull_the_block) {
    BOOST_TEST((expand_by_driver_prefetch(granules(0, 16), granules(16, 17), whole, 51) == whole));
}

BOOST_AUTO_TEST_CASE(pages_outside_the_allocation_are_neither_counted_nor_pulled) {
    const PageMask valid = granules(0, 3);
    BOOST_TEST((expand_by_driver_prefetch(granules(0, 1), granules(1, 2), valid, 51) == valid));
}

BOOST_AUTO_TEST_CASE(the_threshold_is_a_parameter) {
    BOOST_TEST((expand_by_driver_prefetch(granules(0, 2), granules(2, 3), whole, 80) == granules(2, 3)));
}

BOOST_AUTO_TEST_SUITE_END()

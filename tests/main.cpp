/// main() of every test program.
#define BOOST_TEST_MODULE umadvisor
#include <boost/test/unit_test.hpp>

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>

// The tests of runtime_test.cpp mean the shared runtime only if it is the one this program loads.
BOOST_AUTO_TEST_CASE(the_shared_runtime_is_loaded_under_its_name) {
    BOOST_TEST(dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD) != nullptr);
}

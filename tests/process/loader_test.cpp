/// Calls from inside the loader: no thread may wait for the loader while it holds a lock of ours.
#include "unnoticed.hpp"

BOOST_FIXTURE_TEST_SUITE(process_loader_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

BOOST_AUTO_TEST_CASE(look_ups_from_a_walk_over_the_objects) {
    BOOST_TEST(ends(check_unnoticed(folder, "inside_loader look-up"), 0));
    BOOST_TEST(dump(folder, "Alloc").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_call_from_a_walk_over_the_objects) {
    BOOST_TEST(ends(check_unnoticed(folder, "inside_loader call"), 0));
    BOOST_TEST(dump(folder, "Alloc").size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_call_from_a_walk_that_an_unwinding_thread_waits_for) {
    BOOST_TEST(ends(check_unnoticed(folder, "while_unwinding call"), 0));
    const auto made = dump(folder, "Alloc");
    BOOST_TEST(made.size() > 4u); // as many as the other thread makes
    for (const auto& each : made)
        BOOST_TEST(each.at("stack") != 0);
}

BOOST_AUTO_TEST_CASE(forks_while_another_unwinds) {
    const Outcome outcome = check_unnoticed(folder, "while_unwinding fork");
    BOOST_TEST(outcome.out == "0 children hung\nwent on\n");
    BOOST_TEST(!dump(folder, "Alloc").empty());
}

BOOST_AUTO_TEST_CASE(a_copy_in_the_constructor_of_a_library) {
    BOOST_TEST(ends(check_unnoticed(folder, "inside_loader constructor"), 0));
    BOOST_TEST(dump(folder, "Copy").size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

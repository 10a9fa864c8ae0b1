/// What a program does beside CUDA stays as it was: errno, descriptors, look-ups, what is loaded.
#include "process.hpp"

BOOST_FIXTURE_TEST_SUITE(process_bystander_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

/// `where`: shell commands that go to another directory.
void check_no_difference(const std::string& scenario, const std::string& where = "") {
    const Folder folder;
    const std::string program = programs + "/bystander " + scenario;
    const Outcome bare = run_sim(folder, where + program);
    const std::string trace = folder / "x.umtrace";
    const Outcome watched =
        run_sim(folder, where + "UMADVISOR_OUTPUT=" + trace + " LD_PRELOAD=" + shim + " " + program);
    BOOST_TEST(bare.status == 0, bare.out + bare.err);
    BOOST_TEST(!bare.out.empty());
    BOOST_TEST(same(watched, bare));
}

} // namespace

BOOST_AUTO_TEST_CASE(errno_is_kept) {
    check_no_difference("errno");
    check_no_difference("errno", "mkdir gone; cd gone; rmdir ../gone; "); // getcwd(3) fails
}

BOOST_AUTO_TEST_CASE(low_descriptors_stay_free) {
    check_no_difference("descriptors");
}

/// Later, among threads, the kernel takes 10 ms and more to grow the table for a descriptor of ours.
BOOST_AUTO_TEST_CASE(high_descriptors_have_room_before_there_are_threads) {
    const auto room = [&](const std::string& before) {
        const Outcome outcome = run_sim(folder, before + " grep FDSize /proc/self/status");
        BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
        return std::stoul(outcome.out.substr(outcome.out.find(':') + 1));
    };
    BOOST_TEST(room("") <= 512u);
    BOOST_TEST(room("LD_PRELOAD=" + shim) > 512u);
}

BOOST_AUTO_TEST_CASE(descriptors_that_the_program_has_taken_over) {
    check_no_difference("reuse");
}

BOOST_AUTO_TEST_CASE(private_tables_are_the_drivers_own) {
    check_no_difference("tables");
}

BOOST_AUTO_TEST_CASE(no_driver_is_loaded_unasked) {
    check_no_difference("none");
}

BOOST_AUTO_TEST_CASE(the_next_object_is_the_next_object) {
    check_no_difference("next");
}

BOOST_AUTO_TEST_CASE(libraries_are_found_by_the_programs_runpath) {
    check_no_difference("plugin");
}

BOOST_AUTO_TEST_SUITE_END()

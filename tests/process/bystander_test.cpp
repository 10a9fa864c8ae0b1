/// What a program does beside CUDA stays as it was: errno, descriptors, look-ups, what is loaded, a full disk.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

using namespace umadvisor::test;

namespace {

void check_no_difference(const std::string& scenario) {
    const Folder folder;
    const std::string program = programs + "/bystander " + scenario;
    const Outcome bare = run_sim(folder, program);
    const Outcome watched = run_sim(folder, "UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + program);
    BOOST_TEST(bare.status == 0, bare.out + bare.err);
    BOOST_TEST(!bare.out.empty());
    BOOST_TEST(watched.status == bare.status, watched.err);
    BOOST_TEST(watched.out == bare.out);
}

} // namespace

BOOST_AUTO_TEST_CASE(errno_is_kept) {
    check_no_difference("errno");
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

BOOST_AUTO_TEST_CASE(a_disk_that_fills_up) {
    const Folder folder;
    const std::string program = programs + "/bystander launches";
    const std::string on_disk = "mkdir disk; unshare -rm sh -c 'mount -t tmpfs -o size=3m none disk && ";
    if (run(folder, on_disk + "true'; status=$?; rmdir disk; exit $status").status != 0) {
        BOOST_TEST_MESSAGE("left out: no file system can be mounted here");
        return;
    }
    const Outcome bare = run_sim(folder, program);
    // LD_PRELOAD inside: cp and the shell are no business of ours.
    const Outcome full = run_sim(folder, on_disk + "UMADVISOR_OUTPUT=disk/x.umtrace LD_PRELOAD=" + shim + " " +
                                             program + "; status=$?; cp disk/x.umtrace .; exit $status'");
    BOOST_TEST(full.status == bare.status, full.err);
    BOOST_TEST(full.out == bare.out);
    BOOST_TEST(full.err.find("is full") != std::string::npos, full.err);
    const auto found = report(folder, "x.umtrace");
    BOOST_TEST(found.at("dropped").dump().find("disk") != std::string::npos, found.at("dropped").dump());
}

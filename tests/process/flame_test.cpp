/// Stacks of a whole program on simcuda, as a flame graph and as a tree.
#include "process.hpp"

BOOST_FIXTURE_TEST_SUITE(process_flame_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

std::string record_copies(const Folder& folder) {
    BOOST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    return "x.umtrace";
}

} // namespace

BOOST_AUTO_TEST_CASE(lines_of_a_program_with_what_they_copied) {
    const std::string trace = record_copies(folder);
    BOOST_TEST(run(folder, advisor + " flame --by copied " + trace).out ==
               "main (pageable_copies.cu:45);upload (pageable_copies.cu:21);cudaMemcpy 16777216\n"
               "main (pageable_copies.cu:45);upload (pageable_copies.cu:22);cudaMemcpyAsync 16777216\n"
               "main (pageable_copies.cu:53);cudaMemcpy 8388608\n");
    BOOST_TEST(run(folder, advisor + " tree --by copied " + trace).out ==
               "100.0%    40 MiB  pageable_copies: bytes copied\n"
               " 80.0%    32 MiB  ├ main (pageable_copies.cu:45)\n"
               " 40.0%    16 MiB  │ ├ upload (pageable_copies.cu:21)\n"
               " 40.0%    16 MiB  │ │ cudaMemcpy\n"
               " 40.0%    16 MiB  │ └ upload (pageable_copies.cu:22)\n"
               " 40.0%    16 MiB  │   cudaMemcpyAsync\n"
               " 20.0%     8 MiB  └ main (pageable_copies.cu:53)\n"
               " 20.0%     8 MiB    cudaMemcpy\n");
}

BOOST_AUTO_TEST_CASE(whole_stacks_begin_where_the_program_does) {
    const std::string trace = record_copies(folder);
    const Outcome whole = run(folder, advisor + " flame --full-stacks --by copied " + trace);
    BOOST_TEST(whole.out.starts_with("_start (pageable_copies);"), whole.out);
    BOOST_TEST(lines(whole.out) == 3u);
    BOOST_TEST(says(whole.out, ";main (pageable_copies.cu:53);cudaMemcpy ("));
    const Outcome hidden = run(folder, advisor + " flame --hide upload --by copied " + trace);
    BOOST_TEST(says(hidden.out, "main (pageable_copies.cu:45);cudaMemcpy 16777216\n"));
}

BOOST_AUTO_TEST_CASE(of_a_program_that_was_replaced_those_lines_are_shown_that_a_report_has_looked_up) {
    fs::copy_file(sim + "pageable_copies", folder / "app");
    BOOST_REQUIRE(record(folder, "./app").status == 0);
    BOOST_REQUIRE(run(folder, advisor + " report x.umtrace").status == 0);
    fs::remove(folder / "app");
    fs::copy_file(sim + "pingpong", folder / "app");
    const Outcome tree = run(folder, advisor + " tree --threshold 0 x.umtrace");
    BOOST_TEST(says(tree.out, "upload (pageable_copies.cu:21)"));
    BOOST_TEST(says(tree.out, " app+0x")); // the report needed no line of a cudaFree
    BOOST_TEST(says(tree.err, "is not the file that ran (its build id differs); only its lines in umadvisor's "
                              "cache are shown\n"));
    BOOST_TEST(lines(tree.err) == 1u);
}

BOOST_AUTO_TEST_CASE(time_is_that_of_the_run) {
    const std::string trace = record_copies(folder);
    const auto file = Json::parse(run(folder, advisor + " flame --format speedscope " + trace).out);
    BOOST_TEST(file.at("profiles").at(0).at("endValue") == report(folder, trace).at("process").at("net_ns"));
}

BOOST_AUTO_TEST_SUITE_END()

/// While symbols are looked up a terminal is told so, in a line that is gone afterwards; a file never is.
#include "terminal.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_FIXTURE_TEST_SUITE(process_progress_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

const std::string slow = "LD_PRELOAD=" + programs + "/plugins/libslow_symbols.so ";

} // namespace

BOOST_DATA_TEST_CASE(a_terminal_sees_how_far_the_symbols_are,
                     boost::unit_test::data::make({"report", "report --json", "flame", "tree"}), command) {
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    const std::string options = " --no-cache x.umtrace";
    const std::string seen = on_terminal(folder, slow + advisor + " " + command + options + " >out");
    BOOST_TEST(seen.find("\r\033[Kumadvisor: looking up symbols: 1 frame, ") == 0u, seen);
    BOOST_TEST(seen.ends_with("\r\033[K"), seen);
    const Outcome outcome = run(folder, slow + advisor + " " + command + options);
    BOOST_TEST(outcome.err == "");
    BOOST_TEST(outcome.out == read(folder / "out"));
    BOOST_TEST(!outcome.out.empty());
}

BOOST_DATA_TEST_CASE(a_terminal_sees_how_far_reading_is,
                     boost::unit_test::data::make({"report --json --no-cache", "stats --no-cache",
                                                   "flame --no-cache", "tree --by copied --no-cache", "dump",
                                                   "dump --json"}),
                     command) {
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    const std::string slow_reads =
        "LD_PRELOAD=" + programs + "/plugins/libslow_reads.so " + advisor + " " + command + " x.umtrace";
    const std::string seen = on_terminal(folder, slow_reads + " >out");
    BOOST_TEST(says(seen, "\r\033[Kumadvisor: reading: "), seen);
    BOOST_TEST(seen.ends_with("\r\033[K"), seen);
    BOOST_TEST(run(folder, slow_reads).err == "");
}

BOOST_AUTO_TEST_SUITE_END()

/// Programs and commands whose output has no reader, and programs that end with their last thread: they end as
/// alone. tools/bench/unheard tries more of both.
#include "unnoticed.hpp"

#include <boost/test/data/test_case.hpp>

#include <csignal>

BOOST_FIXTURE_TEST_SUITE(process_unheard_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

/// A pipe without a reader: closed at the other end, or full.
struct UnreadPipe {
    int reader = -1, writer = -1;

    explicit UnreadPipe(bool full) {
        int both[2];
        BOOST_TEST_REQUIRE(pipe2(both, O_CLOEXEC) == 0);
        writer = both[1];
        if (!full) {
            close(both[0]);
            return;
        }
        reader = both[0];
        fcntl(writer, F_SETFL, O_NONBLOCK);
        for (char byte = 'x'; write(writer, &byte, 1) == 1;) {
        }
        fcntl(writer, F_SETFL, 0);
    }
    ~UnreadPipe() {
        close(writer);
        if (reader >= 0)
            close(reader);
    }
    UnreadPipe(const UnreadPipe&) = delete;
    UnreadPipe& operator=(const UnreadPipe&) = delete;
};

/// As run(), with the pipe as one of the standard streams of the command alone.
Outcome run_unread(const Folder& folder, const std::string& command, bool full, int stream = STDERR_FILENO) {
    const UnreadPipe pipe(full);
    const int inherited = fcntl(pipe.writer, F_DUPFD, 3);
    BOOST_TEST_REQUIRE(inherited < 10); // POSIX's shell knows no others
    Outcome outcome = run_sim(folder, "exec " + std::to_string(stream) + ">&" + std::to_string(inherited) +
                                          " " + std::to_string(inherited) + ">&-; " + command);
    close(inherited);
    return outcome;
}

} // namespace

BOOST_DATA_TEST_CASE(ends_as_alone, data::make({false, true}), full) {
    for (const char* program : {"ends atexit", "unruly late"}) {
        const Outcome alone = bare(folder, program);
        const std::string command = programs + "/" + program;
        for (const std::string& watched :
             {"UMADVISOR_FORCE=1 UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + command,
              advisor + " run -f -o x.umtrace -- " + command})
            BOOST_TEST(same(run_unread(folder, watched, full), alone), watched);
    }
}

BOOST_DATA_TEST_CASE(ends_with_its_last_thread,
                     data::make({"first", "worker", "others", "signal", "awaited", "handler", "managed"}),
                     way) {
    for (const char* mode :
         {"UMADVISOR_ACT=stage", "UMADVISOR_DURATION=1000", "UMADVISOR_DELAY=1000", "UMADVISOR_UM=cupti"}) {
        const Folder own;
        BOOST_TEST_CONTEXT(mode)
        check_unnoticed(own, std::string("last_thread ") + way, mode);
    }
}

BOOST_AUTO_TEST_CASE(a_reader_that_goes_ends_a_command_without_a_word) {
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    for (const char* command :
         {" report x.umtrace", " dump x.umtrace", " stats --format csv x.umtrace", " --help"}) {
        const Outcome outcome = run_unread(folder, advisor + command, false, STDOUT_FILENO);
        BOOST_TEST(outcome.status == 128 + SIGPIPE, command);
        BOOST_TEST(outcome.err == "", command);
        const Outcome ignoring = run_unread(folder, "trap '' PIPE; " + advisor + command, false, STDOUT_FILENO);
        BOOST_TEST(ignoring.status == 1, command);
        BOOST_TEST(ignoring.err == "", command);
    }
}

BOOST_AUTO_TEST_CASE(a_verdict_is_kept_though_no_one_reads_why) {
    BOOST_TEST_REQUIRE(record(folder, sim + "pinned_copies").status == 0);
    const Outcome baseline = run(folder, advisor + " report --json x.umtrace > b.json");
    BOOST_TEST_REQUIRE(baseline.status == 0, baseline.err);
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    for (const char* command :
         {" check --fail-on low --baseline b.json x.umtrace", " report --fail-on low x.umtrace"}) {
        const Outcome heard = run(folder, advisor + command);
        BOOST_TEST(heard.status == 3, command << heard.out << heard.err);
        const Outcome outcome = run_unread(folder, advisor + command, false, STDOUT_FILENO);
        BOOST_TEST(outcome.status == 3, command);
        BOOST_TEST(outcome.err == "", command);
        BOOST_TEST(run_unread(folder, advisor + command, false).status == 3, command); // nor what it warns of
    }
}

/// A file that a command opens must not get the number of a stream that was closed, and the command's messages.
BOOST_AUTO_TEST_CASE(a_closed_stream_stays_closed) {
    for (const char* stream : {"0", "1", "2"}) {
        const std::string program = std::string("sh -c '! test -e /proc/$$/fd/") + stream + "'";
        const std::string closed = std::string(" ") + stream + ">&-";
        BOOST_TEST(run(folder, program + closed).status == 0, stream);
        BOOST_TEST(run_sim(folder, advisor + " run -- " + program + closed).status == 0, stream);
    }
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    BOOST_TEST(run(folder, advisor + " report --html -o whole.html x.umtrace").status == 0);
    BOOST_TEST(run(folder, advisor + " report --html -o alone.html x.umtrace <&- 2>&-").status == 0);
    BOOST_TEST(read(folder / "whole.html") == read(folder / "alone.html"));
    BOOST_TEST(says(run(folder, advisor + " report x.umtrace >&-").err, "Bad file descriptor"));
}

BOOST_AUTO_TEST_SUITE_END()

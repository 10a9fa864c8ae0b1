/// `umadvisor run`: the program's own behaviour is kept, and every trouble is one clear line.
#include "process.hpp"
#include "trace/run_list.hpp"

BOOST_FIXTURE_TEST_SUITE(process_run_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

const std::string pinned = sim + "pinned_copies";

} // namespace

BOOST_AUTO_TEST_CASE(exit_status_and_signals_come_through) {
    for (const auto& [end, status] : {std::pair{"exit 0", 0},
                                      {"exit 3", 3},
                                      {"exit 255", 255},
                                      {"kill -9 $$", 128 + 9},
                                      {"kill -TERM $$", 128 + 15}})
        BOOST_TEST(run(folder, advisor + " run -- /bin/sh -c '" + end + "'").status == status, end);
}

BOOST_AUTO_TEST_CASE(arguments_and_output_come_through) {
    const Outcome outcome = run(folder, advisor + " run -q -- /bin/echo one '--two three' ''");
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(outcome.out == "one --two three \n");
}

BOOST_AUTO_TEST_CASE(a_program_without_cuda_leaves_no_trace) {
    const Outcome outcome = run(folder, advisor + " run -- /bin/true");
    BOOST_TEST(ends(outcome, 0, "CUDA"));
    BOOST_TEST(traces(folder).empty());
}

BOOST_AUTO_TEST_CASE(missing_program) {
    check_one_line(run(folder, advisor + " run -- ./no-such-program"), 127, "no-such-program");
    std::ofstream(folder / "not-executable") << "text";
    check_one_line(run(folder, advisor + " run -- ./not-executable"), 126, "not-executable");
}

BOOST_AUTO_TEST_CASE(static_binaries_are_refused) { // no loader that would preload anything into them
    for (const char* program : {"/static_program", "/static_pie_program"})
        check_one_line(run(folder, advisor + " run -- " + programs + program), 2, "static");
}

BOOST_AUTO_TEST_CASE(unwritable_output) {
    check_one_line(run(folder, advisor + " run -o no/such/folder/x.umtrace -- /bin/true"), 1, "no/such/folder");
    check_one_line(run(folder, advisor + " run -o . -- /bin/true"), 1, "regular file");
}

BOOST_AUTO_TEST_CASE(force_replaces_a_trace_and_nothing_else) {
    std::ofstream(folder / "x.umtrace") << "precious";
    check_one_line(run_sim(folder, advisor + " run -o x.umtrace -- " + pinned), 1, "exists already");
    check_one_line(run_sim(folder, advisor + " run -f -o x.umtrace -- " + pinned), 1, "is no trace");
    BOOST_TEST(read(folder / "x.umtrace") == "precious");
    const Outcome first = run_sim(folder, advisor + " run -o y.umtrace -- " + pinned);
    BOOST_TEST(first.status == 0, first.err);
    fs::rename(folder / "y.umtrace", folder / "x.umtrace");
    check_one_line(run_sim(folder, advisor + " run -o x.umtrace -- " + pinned), 1, "exists already");
    const Outcome forced = run_sim(folder, advisor + " run -f -o x.umtrace -- " + pinned);
    BOOST_TEST(forced.status == 0, forced.err);
    BOOST_TEST(report(folder).contains("findings"));
}

BOOST_AUTO_TEST_CASE(unknown_options) {
    for (const char* command :
         {" run --no-such-option -- /bin/true", " no-such-command", " report --no-such-option x"})
        check_one_line(run(folder, advisor + command), 2, "no-such");
    const Outcome variable = run_sim(folder, "UMADVISOR_NO_SUCH=1 LD_PRELOAD=" + shim + " " + pinned);
    BOOST_TEST(ends(variable, 0, "UMADVISOR_NO_SUCH"));
}

BOOST_AUTO_TEST_CASE(no_driver_on_the_machine) {
    const std::string program = examples + "/sim-static/pinned_copies";
    const std::string nowhere = "unset LD_LIBRARY_PATH; ";
    const Outcome watched = run(folder, nowhere + advisor + " run -- " + program);
    BOOST_TEST(same(watched, run(folder, nowhere + program)));
    BOOST_TEST(says(watched.err, "libcuda.so.1"));
}

BOOST_AUTO_TEST_CASE(a_script_gives_one_trace_a_process) {
    const Outcome outcome =
        run_sim(folder, advisor + " run -o x.umtrace -- /bin/sh -c '" + pinned + " && " + pinned + "; exit 5'");
    BOOST_TEST(outcome.status == 5, outcome.err);
    BOOST_TEST(traces(folder).size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_next_command_is_said_once) {
    const Outcome outcome = run_sim(folder, advisor + " run -o x.umtrace -- " + pinned);
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(times(outcome.err, "umadvisor report") == 1u, outcome.err);
    BOOST_TEST(outcome.err.ends_with("umadvisor: next: umadvisor report x.umtrace\n"), outcome.err);
    BOOST_TEST(lines(outcome.err) == 3u, outcome.err);
    // As a shell reads it back.
    const Outcome spaced = run_sim(folder, advisor + " run -o 'two words.umtrace' -- " + pinned);
    BOOST_TEST(spaced.err.ends_with("umadvisor: next: umadvisor report 'two words.umtrace'\n"), spaced.err);
    const Outcome preloaded =
        run_sim(folder, "UMADVISOR_OUTPUT='of two.umtrace' LD_PRELOAD=" + shim + " " + pinned);
    BOOST_TEST(preloaded.err.ends_with("; read it with: umadvisor report 'of two.umtrace'\n"), preloaded.err);
    // And no option.
    const Outcome dashed = run_sim(folder, advisor + " run --output=-x.umtrace -- " + pinned);
    BOOST_TEST(dashed.err.ends_with("umadvisor: next: umadvisor report ./-x.umtrace\n"), dashed.err);
}

BOOST_AUTO_TEST_CASE(a_launcher_takes_one_line) {
    // It asks the driver for its devices and does nothing with them.
    const std::string launcher = advisor + " doctor --trial-program";
    check_one_line(run_sim(folder, advisor + " run -o x.umtrace -- " + launcher), 0,
                   "no CUDA call was recorded");
    const Outcome outcome =
        run_sim(folder, advisor + " run -f -o x.umtrace -- /bin/sh -c '" + launcher + " && " + pinned + "'");
    BOOST_TEST(lines(outcome.err) == 4u, outcome.err);
    BOOST_TEST(times(outcome.err, "no CUDA call was recorded") == 1u, outcome.err);
    const std::string next = outcome.err.substr(outcome.err.find("next: umadvisor report"));
    BOOST_TEST(times(next, ".umtrace") == 1u, next);
    BOOST_TEST(lacks(next, "report x.umtrace"));
}

BOOST_AUTO_TEST_CASE(an_output_whose_name_is_too_long) {
    for (const std::string& name : {std::string(300, 'x'), std::string(3000, '/') + std::string(2000, 'x')}) {
        check_one_line(run_sim(folder, advisor + " run -o " + name + " -- " + pinned), 1, "too long");
        check_one_line(run_sim(folder, "UMADVISOR_OUTPUT=" + name + " " + advisor + " run -- " + pinned), 1,
                       "too long");
    }
    // A further process has a longer name.
    check_one_line(run_sim(folder, advisor + " run -o " + std::string(245, 'x') + " -- " + pinned), 1,
                   "too long");
    BOOST_TEST(run(folder, "ls").out == "");
    const Outcome preloaded =
        run_sim(folder, "UMADVISOR_OUTPUT=" + std::string(5000, 'x') + " LD_PRELOAD=" + shim + " " + pinned);
    BOOST_TEST(preloaded.status == 0);
    BOOST_TEST(preloaded.err.starts_with("umadvisor: UMADVISOR_OUTPUT is longer than"), preloaded.err);
    BOOST_TEST(lines(preloaded.err) == 2u, preloaded.err);
}

BOOST_AUTO_TEST_CASE(where_nothing_can_be_written_the_program_does_not_start) {
    for (const std::string where : {"cd /proc", "mkdir gone && cd gone && rmdir ../gone"})
        check_one_line(run_sim(folder, where + " && " + advisor + " run -- /bin/echo started"), 1, "-o");
}

BOOST_AUTO_TEST_CASE(a_trace_that_could_not_be_written) {
    for (const auto& [options, before] : {std::pair{"", "cd /proc"}, {"-o sub/x.umtrace", "rmdir sub"}}) {
        const Outcome outcome = run_sim(folder, "mkdir -p sub; " + advisor + " run " + options +
                                                    " -- /bin/sh -c '" + before + " && " + pinned + "'");
        BOOST_TEST(outcome.status == 0, outcome.err);
        BOOST_TEST(lacks(outcome.err, "entered CUDA"));
        BOOST_TEST(says(outcome.err, "umadvisor: no trace of process "));
        BOOST_TEST(outcome.err.ends_with(".umtrace: No such file or directory\n"), outcome.err);
    }
}

BOOST_AUTO_TEST_CASE(a_program_that_goes_elsewhere_is_reported_on) {
    const Outcome outcome =
        run_sim(folder, "mkdir sub; " + advisor + " run -- /bin/sh -c 'cd sub && " + pinned + "'");
    BOOST_TEST(says(outcome.err, "next: umadvisor report sub/pinned_copies."));
}

BOOST_AUTO_TEST_CASE(runs_side_by_side_report_their_own_traces) {
    const std::string first = pinned, second = sim + "pageable_copies";
    const Outcome beside = run_sim(folder, advisor + " run -- /bin/sh -c '" + first + " && " + advisor +
                                               " run -- " + second + " 2>inner'");
    BOOST_TEST(times(beside.err, "umadvisor report pinned_copies.") == 1u, beside.err);
    BOOST_TEST(lacks(beside.err, "pageable_copies"));
    const std::string inner = read(folder / "inner");
    BOOST_TEST(times(inner, "umadvisor report pageable_copies.") == 1u, inner);
    BOOST_TEST(lacks(inner, "pinned_copies"));

    const std::string same = advisor + " run -f -o x.umtrace -- ";
    const Outcome replaced =
        run_sim(folder, same + "/bin/sh -c '" + first + " && " + same + second + " 2>inner'");
    BOOST_TEST(times(replaced.err, "x.umtrace is another process's by now") == 1u, replaced.err);
    BOOST_TEST(lacks(replaced.err, "next:"));
    BOOST_TEST(times(read(folder / "inner"), "next: umadvisor report x.umtrace") == 1u);
}

BOOST_AUTO_TEST_CASE(entries_that_were_cut_are_passed_over) {
    // As a full disk leaves them: before another process's entry, and at the end.
    const Outcome outcome =
        run_sim(folder, advisor + " run -- /bin/sh -c 'printf \"\\0w12 300 /a/cut\" >>$UMADVISOR_RUN; " +
                            pinned + "; printf \"\\0w12 8 /a/cu\" >>$UMADVISOR_RUN'");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(lacks(outcome.err, "/a/cu"));
    BOOST_TEST(times(outcome.err, "next: umadvisor report pinned_copies.") == 1u, outcome.err);
}

BOOST_AUTO_TEST_CASE(only_a_list_of_ones_own_is_added_to) {
    const std::string magic(umadvisor::trace::run_list_magic.data(), umadvisor::trace::run_list_magic.size());
    const auto run_with_list = [&](const std::string& text, uid_t owner) {
        std::ofstream(folder / "list", std::ios::binary) << text;
        BOOST_TEST_REQUIRE((owner == geteuid() || chown((folder / "list").c_str(), owner, owner) == 0));
        const Outcome outcome = run_sim(
            folder, "UMADVISOR_RUN=$PWD/list UMADVISOR_OUTPUT=x.umtrace UMADVISOR_FORCE=1 LD_PRELOAD=" + shim +
                        " " + pinned);
        BOOST_TEST(outcome.status == 0, outcome.err);
        return read(folder / "list");
    };
    BOOST_TEST(run_with_list(magic, geteuid()).ends_with("/x.umtrace" + std::string(1, '\0')));
    for (const std::string& text : {std::string(), std::string("UMRUN"), std::string("a text of the user's\n")})
        BOOST_TEST(run_with_list(text, geteuid()) == text);
    if (geteuid() == 0)
        BOOST_TEST(run_with_list(magic, 12345) == magic);
}

BOOST_AUTO_TEST_CASE(no_file_may_grow) {
    const std::string program = pinned + " >/dev/null";
    // The error stream is a file here, and so is the list; only the hard limit stays.
    const std::string limited = "ulimit -S -f 0; UMADVISOR_OUTPUT=x.umtrace ";
    const Outcome alone = run_sim(folder, limited + program);
    BOOST_TEST(alone.status == 0);
    std::string list(umadvisor::trace::run_list_magic.data(), umadvisor::trace::run_list_magic.size());
    std::ofstream(folder / "list", std::ios::binary) << list;
    for (const std::string& way :
         {"LD_PRELOAD=" + shim, "UMADVISOR_RUN=$PWD/list LD_PRELOAD=" + shim,
          "UMADVISOR_QUIET=1 UMADVISOR_RUN=$PWD/list LD_PRELOAD=" + shim, advisor + " run --"}) {
        const Outcome watched = run_sim(folder, limited + way + " " + program);
        BOOST_TEST(watched.status == 0, way);
        BOOST_TEST(watched.err == "", way);
        BOOST_TEST(!fs::exists(folder / "x.umtrace"), way);
        BOOST_TEST(read(folder / "list") == list, way);
    }
    // Room for a part of an entry is none.
    list.resize(1000);
    std::ofstream(folder / "list", std::ios::binary) << list;
    const Outcome watched = run_sim(folder, "ulimit -S -f 2; UMADVISOR_OUTPUT=" + std::string(200, 'x') +
                                                " UMADVISOR_RUN=$PWD/list LD_PRELOAD=" + shim + " " + program);
    BOOST_TEST(watched.status == 0, watched.err);
    BOOST_TEST(read(folder / "list") == list);
}

BOOST_AUTO_TEST_CASE(without_a_folder_for_temporary_files) {
    const Outcome outcome = run_sim(folder, "TMPDIR=/proc " + advisor + " run -o x.umtrace -- " + pinned);
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(times(outcome.err, "TMPDIR") == 1u, outcome.err);
    BOOST_TEST(times(outcome.err, "wrote x.umtrace") + times(outcome.err, "/x.umtrace; read it with") == 1u,
               outcome.err);
}

/// Their list is out of the reach of some processes, or gone: what they wrote is found by name.
BOOST_AUTO_TEST_CASE(traces_that_no_process_told_of_are_found) {
    std::vector<std::string> ways{"env -u UMADVISOR_RUN " + pinned,
                                  "sh -c 'rm -r \"${UMADVISOR_RUN%/*}\" && exec " + pinned + "'"};
    if (geteuid() == 0)
        ways.push_back("setpriv --reuid=65534 --clear-groups " + pinned);
    for (const std::string& way : ways)
        for (const std::string output : {"", "x.umtrace"}) {
            const Folder own;
            fs::permissions(own.path, fs::perms::all);
            const std::string option = output.empty() ? "" : "-o " + output + " ";
            // What was there before is not of this run.
            run_sim(own, advisor + " run -q -o x.1.umtrace -- " + pinned);
            const Outcome outcome = run_sim(own, advisor + " run " + option + "-- " + way);
            BOOST_TEST(outcome.status == 0, outcome.err);
            BOOST_TEST(lacks(outcome.err, "no trace: "));
            BOOST_TEST(times(outcome.err, "no process reported its trace") == 1u, outcome.err);
            const std::string next = "umadvisor: next: umadvisor report ";
            BOOST_TEST(times(outcome.err, next + (output.empty() ? "pinned_copies." : "x.umtrace\n")) == 1u,
                       outcome.err);
            BOOST_TEST(lacks(outcome.err, "x.1.umtrace"));
        }
    const Outcome nothing = run_sim(folder, advisor + " run -- env -u UMADVISOR_RUN /bin/true");
    check_one_line(nothing, 0, "no process reported one");
    BOOST_TEST(lacks(nothing.err, "no process of it entered CUDA"));
}

BOOST_AUTO_TEST_CASE(a_program_that_could_not_be_started_takes_one_line) {
    std::ofstream(folder / "script") << "#!/no/such/interpreter\n";
    fs::permissions(folder / "script", fs::perms::owner_all);
    check_one_line(run_sim(folder, advisor + " run -- ./script"), 127, "script");
}

BOOST_AUTO_TEST_CASE(a_trace_without_a_record_is_not_worth_a_report) {
    const Outcome outcome = run_sim(folder, advisor + " run -o x.umtrace -- sh -c '" + sim +
                                                "pinned_copies; truncate -s 20480 x.umtrace'");
    BOOST_TEST(times(outcome.err, "no record of the trace could be read") == 1u, outcome.err);
    BOOST_TEST(lacks(outcome.err, "next:"));
}

BOOST_AUTO_TEST_CASE(bare_preload_says_one_line_or_none) {
    const std::string command = "LD_PRELOAD=" + shim + " " + pinned;
    const Outcome loud = run_sim(folder, command);
    BOOST_TEST(loud.status == 0);
    BOOST_TEST(lines(loud.err) == 1u, loud.err);
    const Outcome quiet = run_sim(folder, "UMADVISOR_QUIET=1 " + command);
    BOOST_TEST(quiet.status == 0);
    BOOST_TEST(quiet.err == "");
}

BOOST_AUTO_TEST_SUITE_END()

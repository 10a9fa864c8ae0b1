/// `umadvisor ab`: what repaired runs gain, and whether their results are those of bare ones.
#include "process.hpp"

BOOST_FIXTURE_TEST_SUITE(process_ab_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

/// Longer than a shell's start varies on a host that is busy.
const std::string beyond_noise = "sleep 0.5";

/// A shell program that knows which arm it is in, as no real one should.
std::string ab(const std::string& options, const std::string& when_bare, const std::string& when_repaired,
               const std::string& always = ":") {
    return advisor + " ab -n 4 " + options + " -- /bin/sh -c 'if [ -n \"$UMADVISOR_ACT\" ]; then " +
           when_repaired + "; else " + when_bare + "; fi; " + always + "'";
}

Json json_of(const Outcome& outcome) {
    return Json::parse(outcome.out);
}

/// Of an arm, in seconds.
double told_median(const std::string& text, const std::string& arm) {
    std::istringstream told(text.substr(text.find(arm)));
    std::string word, unit;
    double number = 0;
    told >> word >> word >> number >> unit;
    BOOST_TEST(word == "median");
    return number * (unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : 1e-9);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_gain_and_a_loss_are_told) {
    const Outcome gain = run(folder, ab("", beyond_noise, ":", "echo done"));
    BOOST_TEST(ends(gain, 0, "gain:     "));
    BOOST_TEST(lacks(gain.out, "no gain"));
    BOOST_TEST(says(gain.out, "exit status 0, standard output (5 bytes)"));
    BOOST_TEST(told_median(gain.out, "bare: ") >= 0.499, gain.out);
    BOOST_TEST(told_median(gain.out, "bare: ") > told_median(gain.out, "repaired: "), gain.out);
    const Outcome loss = run(folder, ab("--json", ":", beyond_noise));
    BOOST_TEST(loss.status == 0, loss.err);
    BOOST_TEST(json_of(loss).at("verdict") == "loss");
    BOOST_TEST(json_of(loss).at("speed_ratio").at("high") < 1.0);
    BOOST_TEST(json_of(loss).at("bare").at("times_s").size() == 4u);
    BOOST_TEST(json_of(loss).at("repaired").at("median_s") >= 0.5);
    BOOST_TEST(json_of(loss).at("bare").at("median_s") < json_of(loss).at("repaired").at("median_s"));
}

/// Two scripts in `folder`, which log themselves to `order`.
void write_builds(const Folder& folder, const std::string& before, const std::string& after) {
    for (const auto& [name, text] : {std::pair{"a", before}, {"b", after}}) {
        std::ofstream(folder / name) << "#!/bin/sh\nprintf " << name << " >>order\n" << text << "\n";
        fs::permissions(folder / name, fs::perms::owner_all);
    }
}

BOOST_AUTO_TEST_CASE(two_builds_are_compared) {
    write_builds(folder, beyond_noise + "; echo $#", "echo $#; echo $LD_PRELOAD$UMADVISOR_ACT >>preloaded");
    const std::string command = advisor + " ab -n 4 --before ./a --after ./b";
    const Outcome gain = run(folder, command + " -- --json 'one word'");
    BOOST_TEST(gain.status == 0, gain.err);
    BOOST_TEST(gain.err == "");
    BOOST_TEST(gain.out.starts_with("before:   median "), gain.out);
    BOOST_TEST(says(gain.out, "), ./a\nafter:    median "));
    BOOST_TEST(says(gain.out, "), ./b\n"));
    BOOST_TEST(says(gain.out, "\ngain:     "));
    BOOST_TEST(read(folder / "order") == "ababbaabba");
    BOOST_TEST(read(folder / "preloaded").find_first_not_of('\n') == std::string::npos);
    const Json found = json_of(run(folder, command + " --json"));
    BOOST_TEST(found.at("verdict") == "gain");
    BOOST_TEST(found.at("before").at("command") == Json({"./a"}));
    BOOST_TEST(found.at("after").at("times_s").size() == 4u);
    BOOST_TEST(!found.contains("act"));
}

BOOST_AUTO_TEST_CASE(a_build_that_does_something_else_is_a_difference) {
    const std::string command = advisor + " ab -n 4 --before ./a --after ./b";
    write_builds(folder, "echo 12", "echo 13");
    BOOST_TEST(ends(run(folder, command), 4, "standard output differs: from byte 2 on in --after run 1\n"));
    write_builds(folder, "exit 3", ":");
    BOOST_TEST(ends(run(folder, command), 3, "./a fails, with exit status 3"));
    write_builds(folder, ":", "exit 3");
    BOOST_TEST(ends(run(folder, command), 4, "exit status 3 in --after run 1"));
}

BOOST_AUTO_TEST_CASE(on_simcuda_the_simulated_time_is_compared) {
    const Json found = json_of(run_sim(folder, advisor + " ab -n 4 --json -- " + sim + "pingpong --mib 2"));
    BOOST_TEST(found.at("simulated_time") == true);
    for (const char* const arm : {"bare", "repaired"}) {
        const std::vector<double> times = found.at(arm).at("times_s");
        BOOST_TEST(std::ranges::max(times) <
                   1.1 * std::ranges::min(times)); // the machine's load changes nothing
    }
    BOOST_TEST(found.at("verdict") == "gain");
    BOOST_TEST(json_of(run(folder, advisor + " ab -n 4 --json -- true")).at("simulated_time") == false);
}

/// A build that the shim could not be preloaded into, too.
BOOST_AUTO_TEST_CASE(builds_of_cuda_programs_are_compared) {
    const std::string build = sim + "pingpong";
    BOOST_TEST(
        ends(run_sim(folder, advisor + " ab -n 4 --before " + build + " --after " + build + " -- --mib 2"), 0,
             "results:  equal in all runs"));
    const Outcome unlinked =
        run(folder, advisor + " ab -n 4 --before /bin/true --after " + programs + "/static_program");
    BOOST_TEST((unlinked.status == 0 || unlinked.status == 4), unlinked.err);
    BOOST_TEST(traces(folder).empty());
}

/// After a run of each that does not count.
BOOST_AUTO_TEST_CASE(which_of_a_pair_is_first_changes) {
    const Outcome outcome =
        run(folder, advisor +
                        " ab -n 4 -- /bin/sh -c 'case $LD_PRELOAD in *libumadvisor*) printf r;; *) printf b;; "
                        "esac >>order'");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(read(folder / "order") == "brbrrbbrrb");
}

BOOST_AUTO_TEST_CASE(no_gain_is_told) {
    // Times that lie in one order whichever arm it is: intervals hold 1 in nearly all runs on a busy machine,
    // too.
    const Outcome outcome =
        run(folder, advisor + " ab -n 4 -- /bin/sh -c 'n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); "
                              "echo $n >n; case $n in 3|4|7|8) sleep 1;; *) sleep 0.1;; esac'");
    BOOST_TEST(ends(outcome, 0, "no gain: "));
    BOOST_TEST(says(outcome.out, "which includes 1)"));
}

BOOST_AUTO_TEST_CASE(a_cuda_program_leaves_equal_results) {
    const Outcome outcome =
        run_sim(folder, advisor + " ab -n 4 --json -o kept.umtrace -- " + sim + "pingpong --mib 2");
    BOOST_TEST(outcome.status == 0, outcome.out + outcome.err);
    const Json found = json_of(outcome);
    BOOST_TEST(found.at("equal") == true);
    BOOST_TEST(found.at("entered_cuda") == true);
    BOOST_TEST(found.at("differences").empty());
    // The trace that was asked for is of a repaired run.
    BOOST_TEST(!dump(folder, "Prefetch", {{"origin", "umadvisor"}}, "kept.umtrace").empty());
    BOOST_TEST(traces(folder).size() == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_stays_behind) {
    fs::create_directory(folder / "tmp");
    const Outcome outcome =
        run_sim(folder, "export TMPDIR=$PWD/tmp; " + advisor + " ab -n 4 -- " + sim + "pinned_copies");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(fs::is_empty(folder / "tmp"));
    BOOST_TEST(outcome.err == "");
    BOOST_TEST(traces(folder).empty());
}

BOOST_AUTO_TEST_CASE(other_output_is_told_with_its_first_byte) {
    BOOST_TEST(ends(run(folder, ab("", "echo 123456789", "echo 1234x6789")), 4,
                    "standard output differs: from byte 5 on in repaired run 1\n"));
    BOOST_TEST(ends(run(folder, ab("", "echo 123", "echo 123; echo 4")), 4,
                    "standard output differs: from byte 5 on"));
}

BOOST_AUTO_TEST_CASE(output_that_varies_by_itself_is_no_repairs_doing) {
    BOOST_TEST(ends(run(folder, advisor + " ab -n 4 -- /bin/sh -c 'echo $$'"), 4,
                    "standard output varies by itself: from byte "));
}

BOOST_AUTO_TEST_CASE(files_are_compared) {
    const std::string both = "--compare a.bin --compare b.bin";
    BOOST_TEST(ends(run(folder, ab(both, ":", ":", "echo 1 >a.bin; echo 2 >b.bin")), 0,
                    "a.bin (2 bytes), b.bin (2 bytes)"));
    const Outcome other = run(folder, ab(both, "echo 2 >b.bin", "echo 3 >b.bin", "echo 1 >a.bin"));
    BOOST_TEST(ends(other, 4, "b.bin differs: from byte 1 on in repaired run 1"));
    BOOST_TEST(lacks(other.out, "a.bin differs"));
    // What an earlier run has left is not a result of this one.
    BOOST_TEST(ends(run(folder, ab(both, "echo 2 >b.bin", ":", "echo 1 >a.bin")), 4,
                    "b.bin differs: not written by repaired run 1"));
    BOOST_TEST(ends(run(folder, ab("--compare a.bin", ":", ":")), 1, "a.bin: the program did not write it"));
    BOOST_TEST(ends(run(folder, ab("--compare /dev/null", ":", ":")), 1, "no regular file"));
}

BOOST_AUTO_TEST_CASE(a_program_that_fails_by_itself_passes_its_failure_on) {
    const Outcome failed = run(folder, advisor + " ab -- /bin/sh -c 'echo why >&2; exit 3'");
    BOOST_TEST(ends(failed, 3, "why\n"));
    BOOST_TEST(failed.out == "");
    BOOST_TEST(lines(failed.err) == 2u, failed.err);
    BOOST_TEST(ends(run(folder, advisor + " ab -- /bin/sh -c 'kill -9 $$'"), 128 + 9, "signal 9"));
}

BOOST_AUTO_TEST_CASE(a_repaired_run_that_fails_is_a_difference) {
    const Outcome failed = run(folder, ab("--json", ":", "echo why >&2; exit 3"));
    BOOST_TEST(ends(failed, 4, "why"));
    BOOST_TEST(json_of(failed).at("verdict").is_null());
    BOOST_TEST(json_of(failed).at("differences").at(0) ==
               "exit status differs: exit status 3 in repaired run 1, exit status 0 in the first");
    BOOST_TEST(ends(run(folder, ab("", ":", "kill -SEGV $$")), 4, "signal 11 (status 139) in repaired run 1"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_run_is_one_line) {
    const auto check = [&](const std::string& command, int status, const std::string& about) {
        check_one_line(run(folder, advisor + " ab " + command), status, about);
    };
    check("-- ./no-such-program", 127, "no-such-program");
    check("-- " + programs + "/static_program", 2, "static");
    check("--before ./no-such-build --after /bin/true", 127, "no-such-build");
    check("--before /bin/true --after ./no-such-build", 127, "no-such-build");
    check("--before /bin/true -- 1", 2, "--before needs --after");
    check("--after /bin/true", 2, "--after needs --before");
    check("--before /bin/true --after /bin/true --act stage", 2, "--act is for repaired runs");
    check("--before /bin/true --after /bin/true -o x.umtrace", 2, "--output is for repaired runs");
    check("-o no/such/folder/x.umtrace -- /bin/true", 1, "no/such/folder");
}

BOOST_AUTO_TEST_CASE(standard_input_is_the_same_in_all_runs) {
    BOOST_TEST(
        ends(run(folder, "echo once | " + advisor + " ab -n 4 -- /bin/cat"), 0, "standard output (0 bytes)"));
}

BOOST_AUTO_TEST_SUITE_END()

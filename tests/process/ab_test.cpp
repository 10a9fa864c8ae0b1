/// `umadvisor ab`: what repaired runs gain, and whether their results are those of bare ones.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(process_ab_test)

using namespace umadvisor::test;

namespace {

/// A shell program that knows which arm it is in, as no real one should.
std::string ab(const std::string& options, const std::string& when_bare, const std::string& when_repaired,
               const std::string& always = ":") {
    return advisor + " ab -n 4 " + options + " -- /bin/sh -c 'if [ -n \"$UMADVISOR_ACT\" ]; then " +
           when_repaired + "; else " + when_bare + "; fi; " + always + "'";
}

nlohmann::json json_of(const Outcome& outcome) {
    return nlohmann::json::parse(outcome.out);
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
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
    const Folder folder;
    const Outcome gain = run(folder, ab("", "sleep 0.1", ":", "echo done"));
    BOOST_TEST(gain.status == 0, gain.err);
    BOOST_TEST(says(gain.out, "gain:     "), gain.out);
    BOOST_TEST(!says(gain.out, "no gain"), gain.out);
    BOOST_TEST(says(gain.out, "exit status 0, standard output (5 bytes)"), gain.out);
    BOOST_TEST(told_median(gain.out, "bare: ") >= 0.099, gain.out);
    BOOST_TEST(told_median(gain.out, "bare: ") > told_median(gain.out, "repaired: "), gain.out);
    const Outcome loss = run(folder, ab("--json", ":", "sleep 0.1"));
    BOOST_TEST(loss.status == 0, loss.err);
    BOOST_TEST(json_of(loss).at("verdict") == "loss");
    BOOST_TEST(json_of(loss).at("speed_ratio").at("high") < 1.0);
    BOOST_TEST(json_of(loss).at("bare").at("times_s").size() == 4u);
    BOOST_TEST(json_of(loss).at("repaired").at("median_s") >= 0.1);
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
    const Folder folder;
    write_builds(folder, "sleep 0.1; echo $#", "echo $#; echo $LD_PRELOAD$UMADVISOR_ACT >>preloaded");
    const std::string command = advisor + " ab -n 4 --before ./a --after ./b";
    const Outcome gain = run(folder, command + " -- --json 'one word'");
    BOOST_TEST(gain.status == 0, gain.err);
    BOOST_TEST(gain.err == "");
    BOOST_TEST(gain.out.starts_with("before:   median "), gain.out);
    BOOST_TEST(says(gain.out, "), ./a\nafter:    median "), gain.out);
    BOOST_TEST(says(gain.out, "), ./b\n"), gain.out);
    BOOST_TEST(says(gain.out, "\ngain:     "), gain.out);
    BOOST_TEST(read(folder / "order") == "ababbaabba");
    BOOST_TEST(read(folder / "preloaded").find_first_not_of('\n') == std::string::npos);
    const nlohmann::json found = json_of(run(folder, command + " --json"));
    BOOST_TEST(found.at("verdict") == "gain");
    BOOST_TEST(found.at("before").at("command") == nlohmann::json({"./a"}));
    BOOST_TEST(found.at("after").at("times_s").size() == 4u);
    BOOST_TEST(!found.contains("act"));
}

BOOST_AUTO_TEST_CASE(a_build_that_does_something_else_is_a_difference) {
    const Folder folder;
    const std::string command = advisor + " ab -n 4 --before ./a --after ./b";
    write_builds(folder, "echo 12", "echo 13");
    const Outcome other = run(folder, command);
    BOOST_TEST(other.status == 4, other.err);
    BOOST_TEST(says(other.out, "standard output differs: from byte 2 on in --after run 1\n"), other.out);
    write_builds(folder, "exit 3", ":");
    const Outcome fails = run(folder, command);
    BOOST_TEST(fails.status == 3);
    BOOST_TEST(says(fails.err, "./a fails, with exit status 3"), fails.err);
    write_builds(folder, ":", "exit 3");
    const Outcome broken = run(folder, command);
    BOOST_TEST(broken.status == 4);
    BOOST_TEST(says(broken.out, "exit status 3 in --after run 1"), broken.out);
}

/// A build that the shim could not be preloaded into, too.
BOOST_AUTO_TEST_CASE(builds_of_cuda_programs_are_compared) {
    const Folder folder;
    const Outcome outcome =
        run_sim(folder, advisor + " ab -n 4 --before " + examples + "/sim/pingpong --after " + examples +
                            "/sim/pingpong -- --mib 2");
    BOOST_TEST(outcome.status == 0, outcome.out + outcome.err);
    BOOST_TEST(says(outcome.out, "results:  equal in all runs"), outcome.out);
    const Outcome unlinked =
        run(folder, advisor + " ab -n 4 --before /bin/true --after " + programs + "/static_program");
    BOOST_TEST((unlinked.status == 0 || unlinked.status == 4), unlinked.err);
    for (const auto& entry : fs::directory_iterator(folder.path))
        BOOST_TEST(entry.path().extension() != ".umtrace", entry.path());
}

/// After a run of each that does not count.
BOOST_AUTO_TEST_CASE(which_of_a_pair_is_first_changes) {
    const Folder folder;
    const Outcome outcome =
        run(folder, advisor +
                        " ab -n 4 -- /bin/sh -c 'case $LD_PRELOAD in *libumadvisor*) printf r;; *) printf b;; "
                        "esac >>order'");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(read(folder / "order") == "brbrrbbrrb");
}

BOOST_AUTO_TEST_CASE(no_gain_is_told) {
    const Folder folder;
    // Times that lie in one order whichever arm it is: intervals hold 1 in nearly all runs on a busy machine,
    // too.
    const Outcome outcome =
        run(folder, advisor + " ab -n 4 -- /bin/sh -c 'n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); "
                              "echo $n >n; case $n in 3|4|7|8) sleep 0.3;; *) sleep 0.1;; esac'");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(says(outcome.out, "no gain: "), outcome.out);
    BOOST_TEST(says(outcome.out, "which includes 1)"), outcome.out);
}

BOOST_AUTO_TEST_CASE(a_cuda_program_leaves_equal_results) {
    const Folder folder;
    const Outcome outcome =
        run_sim(folder, advisor + " ab -n 4 --json -o kept.umtrace -- " + examples + "/sim/pingpong --mib 2");
    BOOST_TEST(outcome.status == 0, outcome.out + outcome.err);
    const nlohmann::json found = json_of(outcome);
    BOOST_TEST(found.at("equal") == true);
    BOOST_TEST(found.at("entered_cuda") == true);
    BOOST_TEST(found.at("differences").empty());
    // The trace that was asked for is of a repaired run.
    bool repaired = false;
    for (const nlohmann::json& prefetch : dump(folder, "kept.umtrace", "Prefetch"))
        repaired |= prefetch.at("origin") == "umadvisor";
    BOOST_TEST(repaired);
    int traces = 0;
    for (const auto& entry : fs::directory_iterator(folder.path))
        traces += entry.path().extension() == ".umtrace";
    BOOST_TEST(traces == 1);
}

BOOST_AUTO_TEST_CASE(nothing_stays_behind) {
    const Folder folder;
    fs::create_directory(folder / "tmp");
    const Outcome outcome = run_sim(folder, "export TMPDIR=$PWD/tmp; " + advisor + " ab -n 4 -- " + examples +
                                                "/sim/pinned_copies");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(fs::is_empty(folder / "tmp"));
    BOOST_TEST(outcome.err == "");
    for (const auto& entry : fs::directory_iterator(folder.path))
        BOOST_TEST(entry.path().extension() != ".umtrace", entry.path());
}

BOOST_AUTO_TEST_CASE(other_output_is_told_with_its_first_byte) {
    const Folder folder;
    const Outcome outcome = run(folder, ab("", "echo 123456789", "echo 1234x6789"));
    BOOST_TEST(outcome.status == 4, outcome.err);
    BOOST_TEST(says(outcome.out, "standard output differs: from byte 5 on in repaired run 1\n"), outcome.out);
    const Outcome longer = run(folder, ab("", "echo 123", "echo 123; echo 4"));
    BOOST_TEST(longer.status == 4, longer.err);
    BOOST_TEST(says(longer.out, "standard output differs: from byte 5 on"), longer.out);
}

BOOST_AUTO_TEST_CASE(output_that_varies_by_itself_is_no_repairs_doing) {
    const Folder folder;
    const Outcome outcome = run(folder, advisor + " ab -n 4 -- /bin/sh -c 'echo $$'");
    BOOST_TEST(outcome.status == 4, outcome.err);
    BOOST_TEST(says(outcome.out, "standard output varies by itself: from byte "), outcome.out);
}

BOOST_AUTO_TEST_CASE(files_are_compared) {
    const Folder folder;
    const std::string both = "--compare a.bin --compare b.bin";
    const Outcome equal = run(folder, ab(both, ":", ":", "echo 1 >a.bin; echo 2 >b.bin"));
    BOOST_TEST(equal.status == 0, equal.err);
    BOOST_TEST(says(equal.out, "a.bin (2 bytes), b.bin (2 bytes)"), equal.out);
    const Outcome other = run(folder, ab(both, "echo 2 >b.bin", "echo 3 >b.bin", "echo 1 >a.bin"));
    BOOST_TEST(other.status == 4, other.err);
    BOOST_TEST(says(other.out, "b.bin differs: from byte 1 on in repaired run 1"), other.out);
    BOOST_TEST(!says(other.out, "a.bin differs"), other.out);
    // What an earlier run has left is not a result of this one.
    const Outcome unwritten = run(folder, ab(both, "echo 2 >b.bin", ":", "echo 1 >a.bin"));
    BOOST_TEST(unwritten.status == 4, unwritten.err);
    BOOST_TEST(says(unwritten.out, "b.bin differs: not written by repaired run 1"), unwritten.out);
    const Outcome never = run(folder, ab("--compare a.bin", ":", ":"));
    BOOST_TEST(never.status == 1);
    BOOST_TEST(says(never.err, "a.bin: the program did not write it"), never.err);
    const Outcome irregular = run(folder, ab("--compare /dev/null", ":", ":"));
    BOOST_TEST(irregular.status == 1);
    BOOST_TEST(says(irregular.err, "no regular file"), irregular.err);
}

BOOST_AUTO_TEST_CASE(a_program_that_fails_by_itself_passes_its_failure_on) {
    const Folder folder;
    const Outcome failed = run(folder, advisor + " ab -- /bin/sh -c 'echo why >&2; exit 3'");
    BOOST_TEST(failed.status == 3);
    BOOST_TEST(failed.out == "");
    BOOST_TEST(says(failed.err, "why\n"), failed.err);
    BOOST_TEST(lines(failed.err) == 2u, failed.err);
    const Outcome killed = run(folder, advisor + " ab -- /bin/sh -c 'kill -9 $$'");
    BOOST_TEST(killed.status == 128 + 9);
    BOOST_TEST(says(killed.err, "signal 9"), killed.err);
}

BOOST_AUTO_TEST_CASE(a_repaired_run_that_fails_is_a_difference) {
    const Folder folder;
    const Outcome failed = run(folder, ab("--json", ":", "echo why >&2; exit 3"));
    BOOST_TEST(failed.status == 4, failed.err);
    BOOST_TEST(says(failed.err, "why"), failed.err);
    BOOST_TEST(json_of(failed).at("verdict").is_null());
    BOOST_TEST(json_of(failed).at("differences").at(0) ==
               "exit status differs: exit status 3 in repaired run 1, exit status 0 in the first");
    const Outcome killed = run(folder, ab("", ":", "kill -SEGV $$"));
    BOOST_TEST(killed.status == 4, killed.err);
    BOOST_TEST(says(killed.out, "signal 11 (status 139) in repaired run 1"), killed.out);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_run_is_one_line) {
    const Folder folder;
    const auto check = [&](const std::string& command, int status, const std::string& about) {
        const Outcome outcome = run(folder, advisor + command);
        BOOST_TEST(outcome.status == status, command);
        BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
        BOOST_TEST(says(outcome.err, about), outcome.err);
    };
    check(" ab -- ./no-such-program", 127, "no-such-program");
    check(" ab -- " + programs + "/static_program", 2, "static");
    check(" ab --before ./no-such-build --after /bin/true", 127, "no-such-build");
    check(" ab --before /bin/true --after ./no-such-build", 127, "no-such-build");
    check(" ab --before /bin/true -- 1", 2, "--before needs --after");
    check(" ab --after /bin/true", 2, "--after needs --before");
    check(" ab --before /bin/true --after /bin/true --act stage", 2, "--act is for repaired runs");
    check(" ab --before /bin/true --after /bin/true -o x.umtrace", 2, "--output is for repaired runs");
    check(" ab -o no/such/folder/x.umtrace -- /bin/true", 1, "no/such/folder");
}

BOOST_AUTO_TEST_CASE(standard_input_is_the_same_in_all_runs) {
    const Folder folder;
    const Outcome outcome = run(folder, "echo once | " + advisor + " ab -n 4 -- /bin/cat");
    BOOST_TEST(outcome.status == 0, outcome.out);
    BOOST_TEST(says(outcome.out, "standard output (0 bytes)"), outcome.out);
}

BOOST_AUTO_TEST_SUITE_END()

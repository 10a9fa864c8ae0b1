#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/shim.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/prove/diff_file.hpp"
#include "analyzer/cli/prove/output_filter.hpp"
#include "analyzer/cli/prove/proof.hpp"
#include "analyzer/cli/prove/proof_folder.hpp"
#include "analyzer/cli/prove/recording.hpp"
#include "analyzer/cli/prove/tree_copy.hpp"
#include "analyzer/cli/run/trial.hpp"
#include "analyzer/cli/source_root.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/text/json_text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

int refuse(int status, const std::string& text) {
    say(text);
    return status;
}

/// Returns the path of the working directory within the tree.
fs::path place_in(const SourceTree& tree) {
    const fs::path place = fs::current_path().lexically_relative(tree.root());
    if (place.empty() || *place.begin() == "..")
        throw reader::Error(
            fmt::format("the working directory is not in {}; run prove in the tree that the diff is for",
                        tree.root().string()));
    return place;
}

/// Programs, scripts and output that are named by absolute paths would be the original's in both runs.
void refuse_original_names(const Arguments& arguments, const SourceTree& tree) {
    std::vector<std::string> words = arguments.rest;
    words.push_back(arguments.value("--build"));
    for (const std::string& file : arguments.values("--compare"))
        words.push_back(file);
    for (const std::string& word : words)
        if (tree.is_named_by(word))
            throw reader::Error(
                fmt::format("{}: names the original tree, {}, but copies are built and run; name it "
                            "from the working directory",
                            word, tree.root().string()));
}

TreeCopy copy_of(const SourceTree& tree, const ProofFolder& folder, const std::string& name) {
    const fs::path root = folder / name;
    tree.copy_to(root);
    return {tree, name, root, (root / place_in(tree)).lexically_normal()};
}

/// Both copies build the files of the diff, also those that were built in the original tree: perhaps with other
/// options.
void make_younger(const TreeCopy& copy, const DiffFile& diff) {
    std::error_code failed; // a file that the diff adds is not there
    for (const std::string& file : diff.files())
        if (fs::is_regular_file(fs::symlink_status(copy.root / file, failed)))
            fs::last_write_time(copy.root / file, fs::file_time_type::clock::now(), failed);
}

/// Throws reader::Error where the copies have the same: git passes over a diff whose paths it takes for those
/// of a working tree around the copy.
void check_applied(const TreeCopy (&copies)[2], const DiffFile& diff) {
    const auto text = [](const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    if (std::ranges::all_of(diff.files(), [&](const std::string& file) {
            return text(copies[0].root / file) == text(copies[1].root / file);
        }))
        throw reader::Error("the diff changes nothing in the tree");
}

Side side_of(const TreeCopy& copy, const Arguments& arguments, const OutputFilter& filter) {
    Side side{program_of(copy, arguments.rest.front()), arguments.rest};
    side.folder = copy.folder.string();
    side.clean = [&copy, &filter](const std::string& file) {
        filter.clean(file, copy.root.string(), copy.original.root().string());
    };
    return side;
}

int prove(const Arguments& arguments) {
    const std::optional<std::size_t> runs = runs_of(arguments);
    if (!runs)
        return usage_error;
    if (arguments.rest.empty())
        return refuse(usage_error, "no program given: umadvisor prove DIFF [options] -- PROGRAM [arguments]");
    OutputFilter filter;
    for (const std::string& pattern : arguments.values("--ignore"))
        if (const std::string trouble = filter.add(pattern); !trouble.empty())
            return refuse(usage_error,
                          fmt::format("--ignore {}: is no regular expression: {}", pattern, trouble));
    const std::string shim = find_shim();
    if (const std::string trouble = shim_trouble(shim); !trouble.empty())
        return refuse(operational_error, trouble);

    const DiffFile diff(arguments.given);
    const SourceTree tree(source_root(arguments));
    place_in(tree);
    refuse_original_names(arguments, tree);
    const ProofFolder folder(arguments.value("--keep"), tree);
    const fs::path kept = folder / "fix.diff";
    std::ofstream(kept, std::ios::binary) << diff.text();

    const TreeCopy copies[] = {copy_of(tree, folder, "old"), copy_of(tree, folder, "new")};
    diff.apply(copies[1].root, kept);
    check_applied(copies, diff);
    make_younger(copies[0], diff);
    for (const TreeCopy& copy : copies)
        build(copy, arguments.value("--build"));

    TrialPlan plan;
    plan.names = plan.result_names = {"old", "new"};
    plan.failure_counts = true;                      // a patch may put right what makes the old program fail
    std::optional<reports::ReportedRuns> reports[2]; ///< of the old and the new program
    for (const int arm : {0, 1}) {
        plan.sides[arm] = side_of(copies[arm], arguments, filter);
        reports[arm] = record(copies[arm], plan.sides[arm], diff, shim, !arguments.has("--no-calibrate"));
    }
    Trial trial(std::move(plan), arguments.values("--compare"));
    trial.run_pairs(*runs);
    if (trial.first_status() != 0)
        return refuse(operational_error,
                      fmt::format("the old program fails, with {}: there is nothing to compare",
                                  status_text(trial.first_status())));
    const Proof proof{trial, named_findings(diff, reports[0], reports[1])};
    if (arguments.has("--json"))
        std::cout << text::json_text(to_json(proof), 2) << "\n";
    else
        write_text(proof, std::cout);
    return proof.holds() ? done : operational_error;
}

} // namespace

const Command prove_command{
    "prove",
    "Build and run the sources with and without a diff, compare output and times, and say whether the findings "
    "that it names are gone: umadvisor prove DIFF [options] -- PROGRAM [arguments]",
    "PROGRAM",
    1,
    0,
    {{"--build", "COMMAND", "Command for sh that builds in the working directory; default: nothing is built"},
     {"--source-root", "DIR",
      "Folder that paths in the diff are relative to, of which two copies are built and run; default: the root "
      "of the git working tree, else the current folder"},
     {"--ignore", "REGEX",
      "Leave out of the standard output what this extended regular expression matches within a line, such as "
      "times",
      true},
     {"--compare", "FILE", "A file that each run writes: its bytes must be the same in all of them", true},
     {"-n,--runs", "N", "Runs of each, from 4 to 100, after one of each to warm up; default: 5"},
     {"--keep", "DIR", "Have the copies and traces in this new or empty folder, and keep it"},
     {"--no-calibrate", "", "Do not calibrate an uncalibrated device after the first recorded run"},
     {"--json", "", "Times, ratio, differences and findings as JSON"}},
    &prove,
    true,
    "DIFF"};

} // namespace umadvisor::cli

/// Subcommands of umadvisor.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::cli {

/// Exit statuses that `umadvisor --help` documents.
enum ExitStatus : int {
    done = 0,
    operational_error = 1,
    usage_error = 2,
    findings_left = 3,
    results_differ = 4
};

struct ExitStatusText {
    std::string_view status, meaning;
};
/// The help and the manual list the exit statuses with these meanings.
constexpr ExitStatusText exit_statuses[] = {
    {"0", "done"},
    {"1", "it could not be done (one line says why); prove: the patch changes the output or loses time"},
    {"2", "wrong usage, or a program that cannot be preloaded into (linked statically)"},
    {"3", "there are findings, where that was to fail"},
    {"4", "ab: the repaired program's results differ, or they vary by themselves"},
    {"other",
     "the program's, from run, and from ab when the program fails by itself: 128+N when signal N ended it, "
     "126/127 when it could not be started"}};

struct OptionSpec {
    std::string_view flags; ///< "-o,--output"; values are found under the last one
    std::string_view value; ///< name of its value; empty: a flag
    std::string_view help;  ///< empty: one that the command passes to itself, and no help shows
    bool repeatable = false;
};

/// What the command line gave.
class Arguments {
public:
    void set(std::string flag, std::vector<std::string> values) {
        values_[std::move(flag)] = std::move(values);
    }
    bool has(const std::string& flag) const { return values_.contains(flag); }
    std::string value(const std::string& flag) const {
        const auto found = values_.find(flag);
        return found == values_.end() || found->second.empty() ? std::string() : found->second.front();
    }
    /// Of a repeatable option, in the order given.
    std::vector<std::string> values(const std::string& flag) const {
        const auto found = values_.find(flag);
        return found == values_.end() ? std::vector<std::string>() : found->second;
    }

    std::string given;             ///< the positional argument before a command line
    std::vector<std::string> rest; ///< positional arguments

private:
    std::map<std::string, std::vector<std::string>> values_;
};

struct Command {
    std::string_view name, summary;
    std::string_view rest; ///< name of the positional arguments in the help; empty: none
    std::size_t rest_least = 0, rest_most = 0;
    std::vector<OptionSpec> options;
    /// Returns the exit status. May throw reader::Error.
    int (*run)(const Arguments&);
    bool rest_is_command =
        false; ///< positional arguments are a command line of their own, after `--` or as they are
    /// Name in the help of a positional argument before that command line, which then follows `--`; empty:
    /// none.
    std::string_view given{};
};

extern const Command run_command, attach_command, top_command, ab_command, report_command, diff_command,
    check_command, stats_command, flame_command, tree_command, dump_command, export_command, merge_command,
    pack_command, patch_command, prove_command, whatif_command, plan_command, doctor_command, calibrate_command,
    explain_command, completion_command, help_command;

/// All of them, in the order of the help.
const std::vector<const Command*>& commands();

} // namespace umadvisor::cli

#include "analyzer/cli/command_line.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/version.hpp"
#include "analyzer/cli/examples.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/nearest.hpp"
#include "analyzer/cli/newest_trace.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/files/short_lived.hpp"
#include "analyzer/text/plain_output.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace umadvisor::cli {
namespace {

/// The exit statuses in one paragraph.
std::string exit_status_text() {
    std::istringstream words([] {
        std::string text = "Exit status:";
        for (const ExitStatusText& each : exit_statuses)
            text += fmt::format(" {} {};", each.status, each.meaning);
        text.back() = '.';
        return text;
    }());
    constexpr std::size_t width = 100;
    std::string text, line;
    for (std::string word; words >> word; line += (line.empty() ? "" : " ") + word)
        if (line.size() + 1 + word.size() > width) {
            text += line + "\n";
            line.clear();
        }
    return text + line;
}

/// Of a command: its examples, and the exit statuses where it has others than done, failed and wrong usage.
std::string footer(const Command& command) {
    std::string text = "Examples:\n";
    for (const std::string_view example : examples_of(command.name))
        text += fmt::format("  {}\n", example);
    const bool special = command.rest_is_command || &command == &check_command || &command == &report_command;
    return text + (special ? "\n" + exit_status_text() : "");
}

/// Says in the usage line what is given besides options: FILE, FILE FILE, FILE..., [RULE].
class PlainFormatter : public CLI::Formatter {
public:
    std::string make_option_usage(const CLI::Option* option) const override {
        const std::string name = make_option_name(option, true);
        std::string text = name;
        for (int i = 1; i < option->get_expected_min(); ++i)
            text += " " + name;
        if (option->get_expected_max() > std::max(option->get_expected_min(), 1))
            text += "...";
        return option->get_required() ? text : "[" + text + "]";
    }
    std::string make_positionals(const CLI::App*) const override { return {}; } // would say it again
};

/// One subcommand while its arguments are parsed.
struct Pending {
    const Command* command = nullptr;
    CLI::App* app = nullptr;
    std::vector<std::unique_ptr<std::vector<std::string>>> values; ///< one for each option
    std::string given;
    std::vector<std::string> rest;
};

void add_options(Pending& pending) {
    for (const OptionSpec& spec : pending.command->options) {
        pending.values.push_back(std::make_unique<std::vector<std::string>>());
        CLI::Option* const option =
            spec.value.empty()
                ? pending.app
                      ->add_flag_function(
                          std::string(spec.flags), [](std::int64_t) {}, std::string(spec.help))
                      ->disable_flag_override() // --flag=value
                : pending.app
                      ->add_option(std::string(spec.flags), *pending.values.back(), std::string(spec.help))
                      ->type_name(std::string(spec.value))
                      ->expected(1) // each time that it is given: what follows is a FILE
                      ->multi_option_policy(spec.repeatable ? CLI::MultiOptionPolicy::TakeAll
                                                            : CLI::MultiOptionPolicy::Throw)
                      ->allow_extra_args(false);
        if (spec.help.empty())
            option->group("");
    }
    const Command& command = *pending.command;
    if (!command.given.empty())
        pending.app->allow_extras()->add_option(std::string(command.given), pending.given)->required();
    else if (command.rest_is_command)
        pending.app->prefix_command();
    else if (!command.rest.empty())
        pending.app->add_option(std::string(command.rest), pending.rest)
            ->expected(static_cast<int>(command.rest_least), static_cast<int>(command.rest_most))
            ->required(command.rest_least != 0);
}

Arguments collect(const Pending& pending) {
    Arguments arguments;
    for (std::size_t i = 0; i < pending.values.size(); ++i) {
        const std::string flags(pending.command->options[i].flags);
        const std::string last = flags.substr(flags.rfind(',') == std::string::npos ? 0 : flags.rfind(',') + 1);
        if (pending.app->count(last) != 0)
            arguments.set(last, *pending.values[i]);
    }
    arguments.given = pending.given;
    arguments.rest = pending.rest;
    return arguments;
}

/// "; did you mean --json?" where one of `arguments` is an option that the command does not have.
std::string nearest_option(const Command& command, std::span<const std::string> arguments) {
    std::vector<std::string_view> known{"--help"};
    for (const OptionSpec& spec : command.options)
        known.push_back(spec.flags.substr(spec.flags.rfind(',') + 1)); // npos + 1 is 0
    for (const std::string& argument : arguments) {
        const std::string_view option = std::string_view(argument).substr(0, argument.find('='));
        if (option.starts_with("--") && std::ranges::find(known, option) == known.end())
            return did_you_mean(option, known);
    }
    return {};
}

int complain(const std::string& text) {
    say(text);
    return usage_error;
}

/// Whether the exit status is what the user asks for: a verdict, or how a program ended. The command finds and
/// keeps it, though no one reads the output to its end.
bool is_status_asked_for(const Command& command, const Arguments& given) {
    return &command == &check_command || command.rest_is_command || given.has("--fail-on");
}

bool status_matters = false;

int parse_and_run(std::vector<std::string> arguments, std::vector<std::string> command_after_dashes,
                  bool dashes) {
    CLI::App app{
        "umadvisor: finds where a CUDA program loses time to memory, on which line, and what to write instead"};
    app.name("umadvisor");
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.footer(exit_status_text());
    app.formatter(std::make_shared<PlainFormatter>()); // of subcommands, too
    std::vector<Pending> all;
    for (const Command* command : commands()) {
        Pending& pending = all.emplace_back();
        pending.command = command;
        pending.app = app.add_subcommand(std::string(command->name), std::string(command->summary));
        pending.app->footer(footer(*command));
    }
    for (Pending& pending : all)
        add_options(pending);

    try {
        app.parse(
            std::vector<std::string>(arguments.rbegin(), arguments.rend())); // CLI11 takes them from the back
    } catch (const CLI::Success& success) {                                  // --help and --version
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        const auto parsed = std::ranges::find_if(all, [](const Pending& each) { return each.app->parsed(); });
        const bool any = parsed != all.end();
        const std::string command = any ? fmt::format("{} ", parsed->command->name) : "";
        const std::string meant = any ? nearest_option(*parsed->command, arguments) : "";
        std::string text = error.what();
        if (const std::size_t value = text.find(" was given a disallowed flag override"); value != text.npos)
            text = fmt::format("--{} takes no value", text.substr(0, value));
        return complain(fmt::format("{}{} (see umadvisor {}--help)", text, meant, command));
    }
    for (Pending& pending : all) {
        if (!pending.app->parsed())
            continue;
        if (pending.command->rest_is_command) {
            pending.rest = pending.app->remaining();
            if (!pending.rest.empty() && pending.rest.front().starts_with('-'))
                return complain(fmt::format(
                    "unknown option {}{} (see umadvisor {} --help)", pending.rest.front(),
                    nearest_option(*pending.command, {&pending.rest.front(), 1}), pending.command->name));
            if ((dashes || !pending.command->given.empty()) && !pending.rest.empty())
                return complain(fmt::format("unexpected {} before --", pending.rest.front()));
            pending.rest.insert(pending.rest.end(), std::make_move_iterator(command_after_dashes.begin()),
                                std::make_move_iterator(command_after_dashes.end()));
        }
        const Arguments given = collect(pending);
        status_matters = is_status_asked_for(*pending.command, given);
        return pending.command->run(given);
    }
    return usage_error;
}

} // namespace

const std::vector<const Command*>& commands() {
    static const std::vector<const Command*> all{
        &run_command,     &attach_command,     &top_command,   &ab_command,     &report_command,
        &diff_command,    &check_command,      &stats_command, &flame_command,  &tree_command,
        &dump_command,    &export_command,     &merge_command, &pack_command,   &patch_command,
        &prove_command,   &whatif_command,     &plan_command,  &doctor_command, &calibrate_command,
        &explain_command, &completion_command, &help_command};
    return all;
}

namespace {

int run_arguments(int argc, const char* const* argv) {
    std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc), command;
    // What stands after `--` belongs to the program that is run, whatever it looks like.
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    const bool run = !arguments.empty() && dashes != arguments.end() &&
                     std::any_of(commands().begin(), commands().end(), [&](const Command* each) {
                         return each->rest_is_command && each->name == arguments.front();
                     });
    if (run) {
        command.assign(std::next(dashes), arguments.end());
        arguments.erase(dashes, arguments.end());
    }
    std::vector<std::string_view> names;
    for (const Command* const each : commands())
        names.push_back(each->name);
    if (!arguments.empty() && !arguments.front().starts_with('-') &&
        std::ranges::find(names, arguments.front()) == names.end()) {
        if (!is_reportable(arguments.front()))
            return complain(fmt::format("unknown command {}{} (see umadvisor --help)", arguments.front(),
                                        did_you_mean(arguments.front(), names)));
        arguments.insert(arguments.begin(), std::string(report_command.name)); // umadvisor app.4242.umtrace
    }
    constexpr std::array<std::string_view, 3> own{"-h", "--help", "--version"};
    if (!arguments.empty() && arguments.front().starts_with('-') &&
        std::ranges::find(own, arguments.front()) == own.end())
        return complain(fmt::format("unknown option {} (see umadvisor --help)", arguments.front()));
    try {
        return parse_and_run(std::move(arguments), std::move(command), run);
    } catch (const std::bad_alloc&) {
        end_progress();
        say("out of memory");
    } catch (const std::exception& error) { // reader::Error among them
        end_progress();
        say(error.what());
    }
    return operational_error;
}

/// Takes the numbers of standard streams that are closed, so that no file gets them and, as stderr, our
/// messages. Reading and writing there fails as before (EBADF), and programs that are started find the streams
/// closed.
void hold_closed_streams() {
    for (const auto& [stream, useless] :
         {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDONLY}})
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            ::open("/dev/null", useless | O_CLOEXEC); // the lowest number that is free is this one (open(2))
}

bool pipes_were_outlived = false; ///< SIGPIPE was ignored before

/// Writing to a pipe or socket that has no reader any more does not end the process: a message must not end a
/// command. Programs that are started get what was there (execve(2)).
void outlive_closed_pipes() {
    pipes_were_outlived = ::signal(SIGPIPE, [](int) {}) == SIG_IGN;
    if (pipes_were_outlived)
        ::signal(SIGPIPE, SIG_IGN);
}

/// The output has no reader: a command ends as any other tool does, by SIGPIPE and without a word, unless its
/// status is what it is for.
void end_by_closed_pipe() {
    if (status_matters)
        return;
    if (!pipes_were_outlived)
        files::end_by(SIGPIPE);
    files::remove_unfinished();
    std::_Exit(operational_error);
}

} // namespace

int run_command_line(int argc, const char* const* argv) {
    hold_closed_streams();
    outlive_closed_pipes();
    text::PlainOutput output(std::cout, &end_by_closed_pipe);
    const int status = run_arguments(argc, argv);
    std::cout.flush();
    if (std::cout)
        return status;
    std::cout.clear();
    if (output.is_closed())
        return status;
    say(fmt::format("the standard output cannot be written: {}; the output is incomplete",
                    std::strerror(output.failure())));
    return operational_error;
}

} // namespace umadvisor::cli

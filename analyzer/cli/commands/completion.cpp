#include "analyzer/cli/command.hpp"
#include "analyzer/cli/message.hpp"

#include <iostream>

namespace umadvisor::cli {
namespace {

/// "-o,--output" is -o and --output.
std::vector<std::string> flags_of(const OptionSpec& option) {
    std::vector<std::string> flags;
    std::string_view left = option.flags;
    for (std::size_t comma; (comma = left.find(',')) != std::string_view::npos; left.remove_prefix(comma + 1))
        flags.emplace_back(left.substr(0, comma));
    flags.emplace_back(left);
    return flags;
}

/// Options that help shows, and --help.
std::vector<OptionSpec> shown_options(const Command& command) {
    std::vector<OptionSpec> shown{{"-h,--help", "", "Print this help message and exit"}};
    for (const OptionSpec& option : command.options)
        if (!option.help.empty())
            shown.push_back(option);
    return shown;
}

/// `text` with a backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos)
            out += '\\';
        out += c;
    }
    return out;
}

/// In single quotes, for bash and zsh.
std::string in_quotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

void write_bash(std::ostream& out) {
    out << "_umadvisor() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        words='--help --version";
    for (const Command* command : commands())
        out << " " << command->name;
    out << "'\n"
           "    elif [[ $word == -* && \" ${COMP_WORDS[*]:0:COMP_CWORD} \" != *' -- '* ]]; then\n"
           "        case ${COMP_WORDS[1]} in\n";
    for (const Command* command : commands()) {
        out << "        " << command->name << ") words='";
        for (const OptionSpec& option : shown_options(*command))
            for (const std::string& flag : flags_of(option))
                out << flag << " ";
        out << "' ;;\n";
    }
    out << "        esac\n"
           "    fi\n"
           "    [ -z \"$words\" ] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\n"
           "complete -o default -F _umadvisor umadvisor\n";
}

void write_zsh(std::ostream& out) {
    out << "#compdef umadvisor\n"
           "local -a commands=(\n";
    for (const Command* command : commands())
        out << "    " << in_quotes(fmt::format("{}:{}", command->name, command->summary)) << "\n";
    out << ")\n"
           "if (( CURRENT == 2 )); then\n"
           "    _describe command commands\n"
           "    return\n"
           "fi\n"
           "shift words\n"
           "(( CURRENT-- ))\n"
           "case $words[1] in\n";
    for (const Command* command : commands()) {
        out << command->name << ")\n    _arguments";
        for (const OptionSpec& option : shown_options(*command))
            for (const std::string& flag : flags_of(option))
                out << " \\\n        "
                    << in_quotes(fmt::format(
                           "{}{}[{}]{}", option.repeatable ? "*" : "", flag, escaped(option.help, "[]\\:"),
                           option.value.empty() ? "" : ":" + escaped(option.value, "\\:") + ":_files"));
        if (!command->given.empty())
            out << " \\\n        " << in_quotes(fmt::format("1:{}:_files", command->given));
        out << " \\\n        " << (command->rest_is_command ? "'*:::program:_normal'" : "'*:file:_files'")
            << "\n    ;;\n";
    }
    out << "esac\n";
}

void write_fish(std::ostream& out) {
    const auto text = [](std::string_view words) { return "'" + escaped(words, "\\'") + "'"; };
    for (const Command* command : commands()) {
        out << "complete -c umadvisor -n __fish_use_subcommand -f -a " << command->name << " -d "
            << text(command->summary) << "\n";
        for (const OptionSpec& option : shown_options(*command)) {
            out << "complete -c umadvisor -n '__fish_seen_subcommand_from " << command->name << "'";
            for (const std::string& flag : flags_of(option))
                out << (flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1));
            out << (option.value.empty() ? "" : " -r") << " -d " << text(option.help) << "\n";
        }
    }
}

int completion(const Arguments& arguments) {
    const std::string& shell = arguments.rest.front();
    if (shell == "bash")
        write_bash(std::cout);
    else if (shell == "zsh")
        write_zsh(std::cout);
    else if (shell == "fish")
        write_fish(std::cout);
    else {
        say(fmt::format("there is no completion for {}; shells are: bash, zsh, fish", shell));
        return usage_error;
    }
    return done;
}

} // namespace

const Command completion_command{
    "completion", "Print a completion script for bash, zsh or fish", "SHELL", 1, 1, {}, &completion};

} // namespace umadvisor::cli

#include "analyzer/cli/commands/manual.hpp"

#include "analyzer/cli/command.hpp"

#include <ostream>
#include <string>

namespace umadvisor::cli {
namespace {

/// `text` without meaning to scdoc.
std::string plain(std::string_view text) {
    constexpr std::string_view special = "\\*_<>#[]|~";
    std::string out;
    for (const char c : text) {
        const bool begins_list = c == '-' && out.empty();
        if (begins_list || special.find(c) != std::string_view::npos)
            out += '\\';
        out += c;
    }
    return out;
}

std::string bold(std::string_view text) {
    return "*" + plain(text) + "*";
}

std::string underlined(std::string_view text) {
    return "_" + plain(text) + "_";
}

/// An entry of a list: `term` is marked up already.
void write_entry(std::ostream& out, std::string_view term, std::string_view text) {
    out << term << "\n\t" << plain(text) << "\n\n";
}

void write_option(std::ostream& out, const OptionSpec& option) {
    std::string term;
    std::string_view left = option.flags;
    for (std::size_t comma; (comma = left.find(',')) != std::string_view::npos; left.remove_prefix(comma + 1))
        term += bold(left.substr(0, comma)) + ", ";
    term += bold(left);
    if (!option.value.empty())
        term += " " + underlined(option.value);
    const bool unsaid = option.repeatable && option.help.find("repeatable") == std::string_view::npos;
    write_entry(out, term, std::string(option.help) + (unsaid ? "; repeatable" : ""));
}

void write_command(std::ostream& out, const Command& command) {
    out << "## umadvisor " << command.name << "\n\n" << plain(command.summary) << ".\n\n";
    for (const OptionSpec& option : command.options)
        if (!option.help.empty())
            write_option(out, option);
}

void write_header(std::ostream& out, std::string_view name, int section, std::string_view summary) {
    out << name << "(" << section << ") \"umadvisor " UMADVISOR_VERSION "\"\n\n# NAME\n\n"
        << name << " - " << summary << "\n\n";
}

} // namespace

void write_command_manual(std::ostream& out) {
    write_header(out, "umadvisor", 1, "says where a CUDA program loses time moving memory");
    out << "# SYNOPSIS\n\n"
           "*umadvisor* *run* [_options_] -- _PROGRAM_ [_arguments_]++\n"
           "*umadvisor* *report* [_options_] _FILE_...++\n"
           "*umadvisor* _COMMAND_ [_options_] ...++\n"
           "*umadvisor* *--help* | *--version*\n\n"
           "# DESCRIPTION\n\n"
           "*umadvisor run* preloads a library, *libumadvisor*(7), into an unmodified program. It records how "
           "the "
           "program allocates, copies, touches and moves memory, in one trace for each process that uses CUDA. "
           "*umadvisor report* says what costs time, on which line, what to write instead, and how much time "
           "that saves.\n\n"
           "*umadvisor* _COMMAND_ *--help* lists the options of a command, as this page does.\n\n"
           "# COMMANDS\n\n";
    for (const Command* command : commands())
        write_command(out, *command);
    out << "# EXIT STATUS\n\n";
    for (const ExitStatusText& each : exit_statuses)
        write_entry(out, bold(each.status), each.meaning);
    out << "# EXAMPLES\n\n"
           "Record a program and report on it:\n\n"
           "\tumadvisor run -- ./app args++\n"
           "umadvisor report app.4242.umtrace\n\n"
           "Fail where a change brings a finding that the run before did not have:\n\n"
           "\tumadvisor report --json before.umtrace > before.json++\n"
           "umadvisor check --baseline before.json after.umtrace\n\n"
           "# SEE ALSO\n\n"
           "*libumadvisor*(7), *ld.so*(8)\n";
}

void write_shim_manual(std::ostream& out) {
    write_header(out, "libumadvisor", 7, "variables that set how a CUDA program is recorded");
    out << "# SYNOPSIS\n\n"
           "*LD_PRELOAD=*_FOLDER_*/libumadvisor.so* _PROGRAM_ [_arguments_]\n\n"
           "# DESCRIPTION\n\n"
           "The library that *umadvisor run* preloads. *umadvisor doctor* prints where it is. It does nothing "
           "in a process that does not use CUDA. *umadvisor run* sets these variables from its options, and a "
           "value that the library does not understand is reported on standard error.\n\n"
           "# ENVIRONMENT\n\n";
#define OPTION(name, type, member, value, help)                                                                \
    write_entry(out,                                                                                           \
                bold("UMADVISOR_" #name) + " (" #type ", by default " +                                        \
                    (*value == '\0' ? "not set" : plain(value)) + ")",                                         \
                help);
#include "interposer/runtime/options.def"
    out << "Types: a flag is 0 or 1; frames a number or off; a size is in bytes, with a suffix if wanted (K, "
           "KiB, M, MiB, ...); seconds may have a fraction; a list has commas between its words.\n\n"
           "# SEE ALSO\n\n"
           "*umadvisor*(1), *ld.so*(8)\n";
}

} // namespace umadvisor::cli

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/coverage.hpp"
#include "analyzer/cli/commands/manual.hpp"
#include "analyzer/cli/message.hpp"

#include <iomanip>
#include <iostream>

namespace umadvisor::cli {
namespace {

struct Variable {
    std::string_view name, type, value, help;
};
constexpr Variable variables[] = {
#define OPTION(name, type, member, value, help) {"UMADVISOR_" #name, #type, value, help},
#include "interposer/runtime/options.def"
};

void write_variables() {
    std::cout << "Environment variables of libumadvisor.so (umadvisor run sets them from its options):\n\n";
    for (const Variable& variable : variables)
        std::cout << std::left << std::setw(27) << variable.name << std::setw(8) << variable.type
                  << std::setw(8) << (variable.value.empty() ? "-" : variable.value) << variable.help << "\n";
}

int help(const Arguments& arguments) {
    if (arguments.rest.empty()) {
        std::cout << "umadvisor help env        variables that set how a program is recorded\n"
                     "umadvisor help coverage   what is recorded of the driver\n"
                     "umadvisor help man        the manual page umadvisor(1), for scdoc\n"
                     "umadvisor help man-shim   the manual page libumadvisor(7), for scdoc\n"
                     "umadvisor explain         what it finds: the rules\n"
                     "umadvisor --help          the commands\n";
        return done;
    }
    const std::string& topic = arguments.rest.front();
    if (topic == "env")
        write_variables();
    else if (topic == "coverage")
        write_coverage(std::cout);
    else if (topic == "man")
        write_command_manual(std::cout);
    else if (topic == "man-shim")
        write_shim_manual(std::cout);
    else {
        say(fmt::format("there is no help on {}; topics are: env, coverage, man, man-shim", topic));
        return usage_error;
    }
    return done;
}

} // namespace

const Command help_command{"help",
                           "Help on a topic: env lists the UMADVISOR_* variables, coverage what is recorded of "
                           "the driver; man and man-shim write the manual pages for scdoc",
                           "TOPIC",
                           0,
                           1,
                           {},
                           &help};

} // namespace umadvisor::cli

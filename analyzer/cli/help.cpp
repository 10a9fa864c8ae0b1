#include "analyzer/cli/command.hpp"
#include "analyzer/reader/error.hpp"

#include <iomanip>
#include <iostream>

namespace umadvisor::cli {
namespace {

struct Variable {
    std::string_view name, type, value, help;
};
constexpr Variable variables[] = {
#define OPTION(name, type, value, help) {"UMADVISOR_" #name, #type, value, help},
#include "interposer/runtime/options.def"
};

int help(const Arguments& arguments) {
    if (arguments.rest.front() != "env")
        throw reader::Error("there is no help on " + arguments.rest.front() + "; try: umadvisor help env");
    std::cout << "Environment variables of libumadvisor.so (umadvisor run sets them from its options):\n\n";
    for (const Variable& variable : variables)
        std::cout << std::left << std::setw(27) << variable.name << std::setw(8) << variable.type
                  << std::setw(8) << (variable.value.empty() ? "-" : variable.value) << variable.help << "\n";
    return done;
}

} // namespace

const Command help_command{"help", "Help on a topic: env lists the UMADVISOR_* variables", "TOPIC", 1, 1, {},
                           &help};

} // namespace umadvisor::cli

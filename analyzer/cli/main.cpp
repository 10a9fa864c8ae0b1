#include "analyzer/cli/command_line.hpp"

#include <cstdlib>

int main(int argc, char** argv) {
    // libdw would ask servers for debug files: a report must not depend on the network.
    ::unsetenv("DEBUGINFOD_URLS");
    return umadvisor::cli::run_command_line(argc, argv);
}

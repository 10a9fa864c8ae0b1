#include "analyzer/cli/run/trace_output.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reader/error.hpp"

#include <filesystem>

namespace umadvisor::cli {

void check_is_not_input(const std::string& output, const std::string& input) {
    std::error_code failed;
    if (std::filesystem::equivalent(input, output, failed))
        throw reader::Error(output + ": is the trace itself; name another output");
}

int write_output(const Arguments& arguments, const std::string& usage, mode_t mode,
                 const std::function<void(OutputFile&)>& write) {
    if (!arguments.has("--output")) {
        say(usage);
        return usage_error;
    }
    const std::string output = arguments.value("--output");
    for (const std::string& trace : arguments.rest)
        check_is_not_input(output, trace);
    OutputFile file(output, arguments.has("--force"), mode);
    write(file);
    end_progress();
    file.commit();
    return done;
}

} // namespace umadvisor::cli

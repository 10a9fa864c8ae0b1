#include "analyzer/cli/live/output_names.hpp"

#include <filesystem>
#include <fmt/core.h>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

} // namespace

OutputNames::OutputNames(const std::string& given, std::size_t processes)
    : given_(given.empty() ? given : fs::absolute(given).lexically_normal().string()),
      several_(processes > 1) {}

live::Request OutputNames::add_to(live::Request request, const live::Process& process) const {
    if (given_.empty())
        return request;
    fs::path path = given_;
    if (several_)
        path.replace_filename(fmt::format("{}.{}{}", path.stem().string(),
                                          process.pid != 0 ? process.pid : process.inner_pid,
                                          path.extension().string()));
    return request.with("output", path.string());
}

std::string reached_trace(const live::Process& process, const std::string& file) {
    std::error_code failed;
    if (fs::exists(file, failed))
        return file;
    const std::string reached = process.reach(file);
    return fs::exists(reached, failed) ? reached : file;
}

} // namespace umadvisor::cli

#include "analyzer/live/request.hpp"

#include "analyzer/reader/error.hpp"

namespace umadvisor::live {

Request& Request::with(std::string_view key, std::string_view value) {
    if (value.find_first_of(std::string_view("\t\n\0", 3)) != std::string_view::npos)
        throw reader::Error(fmt::format("{}: tabs and line feeds cannot be sent to a process", key));
    line_ += fmt::format("\t{}={}", key, value);
    if (line_.size() >= longest_request)
        throw reader::Error(fmt::format("{}: is longer than {} bytes", key, longest_request - 1024));
    return *this;
}

} // namespace umadvisor::live

#include "analyzer/cli/act_modes.hpp"

#include "trace/act_modes.hpp"

#include <fmt/core.h>
#include <sstream>

namespace umadvisor::cli {

std::string act_trouble(const std::string& list, std::string_view words) {
    std::istringstream named(list);
    std::uint64_t size = 0;
    for (std::string mode; std::getline(named, mode, ',');)
        if (!mode.empty() && trace::act_word(mode, words, size).empty())
            return fmt::format("--act takes {} (several with commas between), not {}", words, mode);
    return {};
}

} // namespace umadvisor::cli

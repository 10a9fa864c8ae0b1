/// The words that --act takes.
#pragma once

#include <string>
#include <string_view>

namespace umadvisor::cli {

/// What is wrong with a list, separated by commas, that may have these words (trace::act_word); empty: nothing.
std::string act_trouble(const std::string& list, std::string_view words);

} // namespace umadvisor::cli

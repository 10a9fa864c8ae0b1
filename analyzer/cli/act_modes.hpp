/// The words that --act takes.
#pragma once

#include <string>
#include <string_view>

namespace umadvisor::cli {

/// Returns what is wrong with a list of words, separated by commas; empty if each is one of `words`
/// (trace::act_word).
std::string act_trouble(const std::string& list, std::string_view words);

} // namespace umadvisor::cli

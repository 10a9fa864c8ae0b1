/// Which known word a mistyped one may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace umadvisor::cli {

/// "; did you mean report?" for "reprot", by the fewest changes of a letter (at most a third of the word's
/// letters); empty where no known word is that near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

} // namespace umadvisor::cli

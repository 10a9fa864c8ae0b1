/// Substrings for code without exceptions: string_view::substr() would link those of the C++ library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace umadvisor::base {

/// The first `count` characters, or all if there are fewer.
constexpr std::string_view first(std::string_view text, std::size_t count) noexcept {
    return {text.data(), std::min(count, text.size())};
}

/// What follows the first `count` characters; empty if there are fewer.
constexpr std::string_view after(std::string_view text, std::size_t count) noexcept {
    const std::size_t gone = std::min(count, text.size());
    return {text.data() + gone, text.size() - gone};
}

} // namespace umadvisor::base

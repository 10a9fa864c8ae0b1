/// The modes that --act names.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace umadvisor::cli {

/// What --act takes when a program is run: what the shim knows (interposer/runtime/options.cpp).
inline constexpr std::array<std::string_view, 8> run_modes{
    "prefetch", "relieve", "rewrite=all", "rewrite=SIZE+", "rewrite=spill", "stage", "auto", "plan=FILE"};

/// What is wrong with a list, separated by commas, that may have these (SIZE and FILE stand for any); empty:
/// nothing.
std::string act_trouble(const std::string& list, std::span<const std::string_view> modes);

} // namespace umadvisor::cli

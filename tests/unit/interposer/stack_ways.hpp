/// Random call trees, made to look alike: their stacks run through one call site, and their innermost frames
/// lie at the same addresses whatever called them.
#pragma once

#include <cstdint>

namespace umadvisor::record {

/// Trees of one such group are the same but for a few calls in their middle, below which all is level again:
/// the words of one's stack may still lie where they were when another's is captured.
constexpr std::uint64_t trees_alike = 4;

/// Walks down the tree with that number, always the same one, and calls `leaf` at its end. `depth`: of calls.
void call_through_tree(std::uint64_t number, void (*leaf)());

/// The code that trees call besides this program's: a plug-in, and a function generated into a page. Both are
/// replaced by code with other frames, whose calls return to the same addresses. False when there is none.
bool replace_code(const char* plugin) noexcept;

/// How often the plug-in's code came to lie where it had been; where it lies now.
struct PluginPlace {
    std::uintptr_t first = 0, last = 0;
    std::uint64_t loads = 0, same_place = 0;
};
const PluginPlace& plugin_place() noexcept;

/// Signals on a stack of their own, for the calling thread. Once a thread.
void prepare_signals() noexcept;

} // namespace umadvisor::record

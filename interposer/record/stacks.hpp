/// Interned call stacks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace umadvisor::record {

/// Loads the unwinder and notes where our own code lies. `frames`: depth to keep, 0 for none. `python`: the
/// frames of an interpreter are kept too. Once, from open().
void prepare_stacks(int frames, bool python) noexcept;

/// Looks whether objects came or went, so that stacks through another object in the place of one that is gone
/// are its own. Called at each look-up of a symbol: what dlopen(3) brought in is first reached by one.
void follow_modules() noexcept;

/// The same for instruction(), which asks nobody.
void follow_objects() noexcept;

/// The path of the first object whose file's name starts with one of `names`, among those that hold the
/// `nearest` innermost frames of stack `id` (of record::stack()); empty: none. Valid for good. Looks through
/// every known frame: not for each call.
std::string_view object_on_stack(std::uint64_t id, int nearest,
                                 std::span<const std::string_view> names) noexcept;

} // namespace umadvisor::record

/// Interned call stacks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace umadvisor::record {

/// Loads the unwinder and notes the addresses of our own code. `frames`: depth to keep, 0 for none. `python`:
/// Python frames are kept, too. Called once, from open().
void prepare_stacks(int frames, bool python) noexcept;

/// Notes loaded and unloaded objects, so that addresses of an unloaded object are not mistaken for those of a
/// new one. Called at each look-up of a symbol, by which code of dlopen(3) is first reached.
void follow_modules() noexcept;

/// The same for instruction(), which does not check it.
void follow_objects() noexcept;

/// The path of the first object whose file's name starts with one of `names`, among those that hold the
/// `nearest` innermost frames of stack `id` (of record::stack()); empty: none. Valid for good. Looks through
/// every known frame: not for each call.
std::string_view object_on_stack(std::uint64_t id, int nearest,
                                 std::span<const std::string_view> names) noexcept;

} // namespace umadvisor::record

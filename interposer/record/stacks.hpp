/// Interned call stacks.
#pragma once

namespace umadvisor::record {

/// Loads the unwinder and notes where our own code lies. `frames`: depth to keep, 0 for none. `python`: the
/// frames of an interpreter are kept too. Once, from open().
void prepare_stacks(int frames, bool python) noexcept;

/// Looks whether objects came or went, so that stacks through another object in the place of one that is gone
/// are its own. Called at each look-up of a symbol: what dlopen(3) brought in is first reached by one.
void follow_modules() noexcept;

} // namespace umadvisor::record

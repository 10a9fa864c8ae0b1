/// Interned call stacks.
#pragma once

namespace umadvisor::record {

/// Loads the unwinder and notes where our own code lies. `frames`: depth to keep, 0 for none. Once, from
/// open().
void prepare_stacks(int frames) noexcept;

} // namespace umadvisor::record

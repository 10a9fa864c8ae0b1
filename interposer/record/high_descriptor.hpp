/// Descriptors of our own have high numbers: programs close low ones, and select(2) on them.
#pragma once

namespace umadvisor::record {

/// The same file under a high number; `descriptor` itself if the limit of descriptors is too low.
int raise_descriptor(int descriptor) noexcept;

/// Makes raise_descriptor() quick. Called while there is one thread: a table of descriptors that threads share
/// grows only after the kernel has waited for all processors (expand_fdtable: 8 to 19 ms).
void make_room_for_descriptors() noexcept;

} // namespace umadvisor::record

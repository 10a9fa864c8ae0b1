/// Descriptors of our own have high numbers: programs close low ones, and select(2) on them.
#pragma once

namespace umadvisor::record {

/// The same file under a high number; `descriptor` itself if the limit of descriptors is too low.
int raise_descriptor(int descriptor) noexcept;

/// Whose a descriptor of ours is. The values are signals of real time that other programs hardly choose.
enum class Marked : int { first_read = 59, second_read = 60, unwinder = 61, waker = 62 };

/// Marks an open file of ours, so that is_marked() knows it again: programs close descriptors that are not
/// theirs, and the number may belong to another file then. The mark is the signal for O_ASYNC (fcntl(2),
/// F_SETSIG), which stays off. fstat(2) would do as well, but a filter of system calls (seccomp(2)) may kill
/// the program for it; CUDA itself needs fcntl(2), so filters allow that.
[[nodiscard]] bool mark(int descriptor, Marked owner) noexcept;
bool is_marked(int descriptor, Marked owner) noexcept;

/// Makes raise_descriptor() quick. Called while there is one thread: a table of descriptors that threads share
/// grows only after the kernel has waited for all processors (expand_fdtable: 8 to 19 ms).
void make_room_for_descriptors() noexcept;

} // namespace umadvisor::record

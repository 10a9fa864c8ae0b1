/// The part of a trace that is still in its writer's memory.
#pragma once

#include <cstdint>
#include <vector>

namespace umadvisor::reader {

/// Bytes that take the place of the file's own from `offset` on.
struct Piece {
    std::uint64_t offset = 0;
    std::vector<std::uint8_t> bytes;
};

/// Of one look at a file and the segment that it names.
struct Unwritten {
    std::vector<Piece> pieces; ///< by offset, without overlap
    bool lost = false;         ///< the file names a segment that is not there, or is not ours to read
};

/// Finds the segment that an open trace names. Where its writer is gone and the file may be written to, all
/// that the segment holds is written there and the segment is removed; else it is returned. The segment must
/// belong to this user, as the file must, and name the file in its turn: no other is read or removed. Throws
/// nothing; what cannot be done leaves things as they are.
Unwritten take_unwritten(int file);

} // namespace umadvisor::reader

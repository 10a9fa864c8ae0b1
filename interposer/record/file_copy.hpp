/// A copy of a trace that is written to.
#pragma once

#include "trace/layout.hpp"

#include <cstdint>

namespace umadvisor::record {

/// Copies the chunks of a file behind a header of its own.
struct FileCopy {
    int from = -1;           ///< closed by write()
    std::uint64_t bytes = 0; ///< of the whole file
    std::uint8_t header[trace::header_bytes];

    /// Makes the file `path`: O_EXCL, no links followed, mode 0600. Returns nullptr, or why not (static text);
    /// then there is no file.
    const char* write(const char* path) noexcept;

private:
    const char* copy_into(int to) const noexcept;
};

} // namespace umadvisor::record

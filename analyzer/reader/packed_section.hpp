/// What `umadvisor pack` adds to a trace, as bytes: it stands between the call counters and the first chunk,
/// where readers that do not know it do not look.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace umadvisor::reader {

class Source;

inline constexpr std::uint64_t largest_section = 64 << 20; ///< what a reader is ready to hold of one trace
/// Of a file's header with call counters and section: offset of its first chunk.
inline constexpr std::uint64_t largest_header = largest_section + (1 << 20);

struct PackedSection {
    std::string content;  ///< empty: the trace is not packed
    bool damaged = false; ///< there is one, and it cannot be used
};

/// Throws Error when the device fails.
PackedSection read_packed_section(const Source& source);

/// The trace's bytes with `content` in place of the section that it has, if any, handed to `write` piece by
/// piece. All else is as it was, damage included. Throws Error: the device fails, or the header has no room
/// for so much; and what `write` throws.
void write_with_section(const Source& source, std::string_view content,
                        const std::function<void(std::string_view)>& write);

} // namespace umadvisor::reader

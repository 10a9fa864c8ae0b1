/// Offsets of CPython's structures that a walk through its frames reads: one row for each version.
#pragma once

#include "trace/values.hpp"

#include <cstdint>

namespace umadvisor::record {

/// Offsets in bytes, on machines of 64 bits. The headers of objects are the same in all versions from 3.9
/// to 3.14.
struct PythonLayout {
    static constexpr std::uint16_t none = 0xffff;

    /// How a frame says where it is.
    enum class At : std::uint8_t {
        bytes,   ///< an int: offset into the code
        units,   ///< an int: number of the instruction, two bytes each
        pointer, ///< to the instruction itself
    };

    std::uint16_t thread_frame; ///< in PyThreadState: the innermost frame, or what leads to it
    std::uint16_t leader_frame; ///< in _PyCFrame: the innermost frame; none: the version has no _PyCFrame

    std::uint16_t frame_previous, frame_code, frame_at;
    At at;
    std::uint16_t frame_entry; ///< 3.11: a byte that is not zero if C has called; none: `frame_owner` says it
    std::uint16_t frame_owner; ///< a byte; from 3.12 on the frames between C and Python say so; none: every
                               ///< frame was entered by a call from C

    std::uint16_t code_first_line, code_file, code_name, code_lines;
    std::uint16_t code_instructions; ///< where the bytecode begins; none: in an object of its own

    std::uint16_t text_ascii, text_wide; ///< where the characters of a str begin
    trace::LineTable lines;
};

/// Objects, in all versions.
namespace python {
inline constexpr std::uint16_t object_type = 8;
inline constexpr std::uint16_t object_size = 16; ///< of bytes and of str: how many elements
inline constexpr std::uint16_t bytes_data = 32;
inline constexpr std::uint16_t text_state = 32; ///< of str
inline constexpr std::uint8_t owned_by_interpreter = 3;
} // namespace python

/// The layout of a version before 3.13 (0x030b02f0 is 3.11.2); nullptr where it is not known.
const PythonLayout* layout_of(std::uint32_t version) noexcept;

/// From 3.13 on the interpreter says itself where things are, at the start of _PyRuntime (`_Py_DebugOffsets`,
/// made for debuggers). Returns nullptr, or why the frames cannot be read.
const char* read_debug_offsets(const std::uint64_t* words, std::uint32_t version,
                               PythonLayout& layout) noexcept;

/// Words that read_debug_offsets() looks at.
inline constexpr std::size_t debug_offset_words = 81;

} // namespace umadvisor::record

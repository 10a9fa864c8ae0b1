#include "interposer/record/python_layout.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::record {
namespace {

using At = PythonLayout::At;
constexpr std::uint16_t none = PythonLayout::none;

constexpr PythonLayout python_3_9{.thread_frame = 24,
                                  .leader_frame = none, // PyThreadState
                                  .frame_previous = 24,
                                  .frame_code = 32,
                                  .frame_at = 104,
                                  .at = At::bytes, // PyFrameObject
                                  .frame_entry = none,
                                  .frame_owner = none, //
                                  .code_first_line = 40,
                                  .code_file = 104,
                                  .code_name = 112,
                                  .code_lines = 120, // PyCodeObject
                                  .code_instructions = none,
                                  .text_ascii = 48,
                                  .text_wide = 72,
                                  .lines = trace::LineTable::increments};

constexpr PythonLayout python_3_10{.thread_frame = 24,
                                   .leader_frame = none, //
                                   .frame_previous = 24,
                                   .frame_code = 32,
                                   .frame_at = 96,
                                   .at = At::units, //
                                   .frame_entry = none,
                                   .frame_owner = none, //
                                   .code_first_line = 40,
                                   .code_file = 104,
                                   .code_name = 112,
                                   .code_lines = 120, //
                                   .code_instructions = none,
                                   .text_ascii = 48,
                                   .text_wide = 72,
                                   .lines = trace::LineTable::ranges};

// From here on frames are _PyInterpreterFrame, and the name is the qualified one.
constexpr PythonLayout python_3_11{.thread_frame = 56,
                                   .leader_frame = 8, //
                                   .frame_previous = 48,
                                   .frame_code = 32,
                                   .frame_at = 56,
                                   .at = At::pointer, //
                                   .frame_entry = 68,
                                   .frame_owner = 69, //
                                   .code_first_line = 72,
                                   .code_file = 112,
                                   .code_name = 128,
                                   .code_lines = 136, //
                                   .code_instructions = 184,
                                   .text_ascii = 48,
                                   .text_wide = 72,
                                   .lines = trace::LineTable::locations};

constexpr PythonLayout python_3_12{.thread_frame = 56,
                                   .leader_frame = 0, //
                                   .frame_previous = 8,
                                   .frame_code = 0,
                                   .frame_at = 56,
                                   .at = At::pointer, //
                                   .frame_entry = none,
                                   .frame_owner = 70, //
                                   .code_first_line = 68,
                                   .code_file = 112,
                                   .code_name = 128,
                                   .code_lines = 136, //
                                   .code_instructions = 192,
                                   .text_ascii = 40,
                                   .text_wide = 56,
                                   .lines = trace::LineTable::locations};

/// Numbers of the words in _Py_DebugOffsets: its parts have grown from version to version.
struct DebugWords {
    std::uint8_t thread_frame, frame_previous, frame_code, frame_at, frame_owner;
    std::uint8_t code_file, code_name, code_lines, code_first_line, code_instructions;
    std::uint8_t type, bytes_size, bytes_data, text_state, text_size, text_ascii;
};
constexpr DebugWords words_3_13{23, 29, 30, 31, 33, 35, 37, 38, 39, 43, 45, 65, 66, 68, 69, 70};
constexpr DebugWords words_3_14{26, 32, 33, 34, 36, 40, 42, 43, 44, 48, 51, 75, 76, 78, 79, 80};
static_assert(words_3_14.text_ascii < debug_offset_words);

constexpr std::uint32_t minor_of(std::uint32_t version) {
    return version >> 16;
}

} // namespace

const PythonLayout* layout_of(std::uint32_t version) noexcept {
    switch (minor_of(version)) {
    case 0x0309:
        return &python_3_9;
    case 0x030a:
        return &python_3_10;
    case 0x030b:
        return &python_3_11;
    case 0x030c:
        return &python_3_12;
    default:
        return nullptr;
    }
}

const char* read_debug_offsets(const std::uint64_t* words, std::uint32_t version,
                               PythonLayout& layout) noexcept {
    constexpr std::size_t said_version = 1, free_threaded = 2;
    if (std::memcmp(words, "xdebugpy", 8) != 0 || words[said_version] != version)
        return "it does not say where its frames are";
    if (words[free_threaded] != 0)
        return "free-threaded build";
    const DebugWords& at = minor_of(version) == 0x030d ? words_3_13 : words_3_14;
    if (words[at.type] != python::object_type || words[at.bytes_size] != python::object_size ||
        words[at.bytes_data] != python::bytes_data || words[at.text_size] != python::object_size ||
        words[at.text_state] != python::text_state)
        return "its objects have another layout than those of versions 3.9 to 3.14";
    layout = python_3_12;
    layout.leader_frame = none;
    const auto take = [&](std::uint8_t word, std::uint16_t& to) {
        constexpr std::uint64_t farthest = 4096;
        to = static_cast<std::uint16_t>(std::min(words[word], farthest));
        return words[word] < farthest;
    };
    const bool near =
        take(at.thread_frame, layout.thread_frame) && take(at.frame_previous, layout.frame_previous) &&
        take(at.frame_code, layout.frame_code) && take(at.frame_at, layout.frame_at) &&
        take(at.frame_owner, layout.frame_owner) && take(at.code_file, layout.code_file) &&
        take(at.code_name, layout.code_name) && take(at.code_lines, layout.code_lines) &&
        take(at.code_first_line, layout.code_first_line) &&
        take(at.code_instructions, layout.code_instructions) && take(at.text_ascii, layout.text_ascii);
    if (!near)
        return "its frames have impossible values";
    layout.text_wide =
        static_cast<std::uint16_t>(layout.text_ascii + 16); // the cached UTF-8 form, by length and pointer
    return nullptr;
}

} // namespace umadvisor::record

/// The Python frames of the calling thread, as the interpreter has linked them.
#pragma once

#include "interposer/record/python_layout.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// The current position of a frame.
struct PythonSight {
    std::uintptr_t code;       ///< the code object
    std::uint32_t instruction; ///< byte offset into the code; 0 if the frame has not begun
    bool entered;              ///< by a call from C
};

/// What is read of a code object.
struct PythonCodeHead {
    std::uintptr_t file, name; ///< str
    std::uintptr_t lines;      ///< bytes
    std::int32_t first_line;
};

/// Reads an interpreter's structures by their layout. `Memory` is DirectMemory or CheckedMemory. What
/// CheckedMemory reads is validated: each function returns false (or -1) if something is impossible.
template <class Memory>
class PythonReader {
public:
    PythonReader(Memory& memory, const PythonLayout& layout, std::uintptr_t code_type) noexcept
        : memory_(memory), layout_(layout), code_type_(code_type) {}

    /// The innermost frames of a thread, at most `most`; -1 if the chain is not valid.
    [[gnu::always_inline]] int frames(std::uintptr_t thread_state, PythonSight* to, int most) noexcept {
        std::uintptr_t at = 0;
        if (!word(thread_state + layout_.thread_frame, at))
            return -1;
        if (layout_.leader_frame != PythonLayout::none && at != 0 && !word(at + layout_.leader_frame, at))
            return -1;
        int count = 0;
        for (int steps = 3 * most; at != 0 && count < most; --steps) {
            std::uintptr_t previous = 0;
            if (steps == 0 || !word(at + layout_.frame_previous, previous))
                return -1;
            if (is_between(at)) { // the frame before it was called by C
                if (count != 0)
                    to[count - 1].entered = true;
            } else if (!frame(at, to[count++])) {
                return -1;
            }
            at = previous;
        }
        if (at == 0 && count != 0)
            to[count - 1].entered = true;
        return count;
    }

    [[gnu::always_inline]] bool head(std::uintptr_t code, PythonCodeHead& to) noexcept {
        return word(code + layout_.code_file, to.file) && word(code + layout_.code_name, to.name) &&
               word(code + layout_.code_lines, to.lines) &&
               memory_.copy(code + layout_.code_first_line, &to.first_line, sizeof to.first_line);
    }

    /// Where the characters of a str are, and how they are stored.
    struct Text {
        std::uintptr_t at;
        std::size_t bytes;
        unsigned width; ///< of a character: 1, 2, 4
        bool ascii;
    };
    [[gnu::always_inline]] bool text(std::uintptr_t object, Text& to) noexcept {
        std::uint64_t length = 0;
        std::uint32_t state = 0;
        if (!word(object + python::object_size, length) ||
            !memory_.copy(object + python::text_state, &state, sizeof state))
            return false;
        constexpr std::uint32_t compact = 0x20, ascii = 0x40;
        to.width = state >> 2 & 7;
        to.ascii = (state & ascii) != 0;
        to.at = object + (to.ascii ? layout_.text_ascii : layout_.text_wide);
        to.bytes = static_cast<std::size_t>(length) * to.width;
        return (state & compact) != 0 && length <= longest && (to.width == 1 || to.width == 2 || to.width == 4);
    }

    /// The same of bytes.
    [[gnu::always_inline]] bool bytes(std::uintptr_t object, std::uintptr_t& at, std::size_t& size) noexcept {
        at = object + python::bytes_data;
        return word(object + python::object_size, size) && size <= longest;
    }

    [[gnu::always_inline]] bool copy(std::uintptr_t from, void* to, std::size_t size) noexcept {
        return memory_.copy(from, to, size);
    }
    [[gnu::always_inline]] bool word(std::uintptr_t at, std::uint64_t& value) noexcept {
        return memory_.copy(at, &value, sizeof value);
    }

private:
    static constexpr std::size_t longest = std::size_t{1} << 28; ///< of a name or a line table

    bool is_between(std::uintptr_t frame) noexcept {
        std::uint8_t owner = 0;
        return layout_.frame_owner != PythonLayout::none && layout_.frame_entry == PythonLayout::none &&
               memory_.copy(frame + layout_.frame_owner, &owner, 1) && owner >= python::owned_by_interpreter;
    }

    [[gnu::always_inline]] bool frame(std::uintptr_t at, PythonSight& to) noexcept {
        std::uintptr_t type = 0;
        if (!word(at + layout_.frame_code, to.code))
            return false;
        to.code &= ~std::uintptr_t{3}; // tags, from 3.14 on
        if (to.code == 0 || !word(to.code + python::object_type, type) || type != code_type_)
            return false;
        std::uint8_t entry = layout_.frame_owner == PythonLayout::none;
        if (layout_.frame_entry != PythonLayout::none && !memory_.copy(at + layout_.frame_entry, &entry, 1))
            return false;
        to.entered = entry != 0;
        return locate(at, to);
    }

    [[gnu::always_inline]] bool locate(std::uintptr_t at, PythonSight& to) noexcept {
        std::int64_t offset = 0;
        if (layout_.at == PythonLayout::At::pointer) {
            std::uintptr_t pointer = 0;
            if (!word(at + layout_.frame_at, pointer))
                return false;
            offset = static_cast<std::int64_t>(pointer - to.code - layout_.code_instructions);
        } else {
            std::int32_t number = 0;
            if (!memory_.copy(at + layout_.frame_at, &number, sizeof number))
                return false;
            offset = layout_.at == PythonLayout::At::units ? std::int64_t{number} * 2 : number;
        }
        constexpr std::int64_t farthest = std::int64_t{1} << 30;
        to.instruction = offset < 0 ? 0 : static_cast<std::uint32_t>(offset);
        return offset < farthest;
    }

    Memory& memory_;
    const PythonLayout& layout_;
    const std::uintptr_t code_type_;
};

} // namespace umadvisor::record

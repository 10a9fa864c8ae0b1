/// Fingerprints by which Python stacks are recognised without a look-up.
#pragma once

#include "interposer/record/fingerprint.hpp"
#include "interposer/record/python_frames.hpp"

#include <algorithm>

namespace umadvisor::record {

/// A fingerprint of all that determines a stack's definition: the position of each frame in its code, and the
/// code. The address of a code object is not enough: when code objects are made and freed (exec, a notebook's
/// cells), the next one gets the address of the last, and so do its name, file and line table. So their content
/// counts as well; of long ones the two ends.
class PythonKey {
public:
    using Value = Fingerprint::Value;

    explicit PythonKey(std::uint64_t start) noexcept { row_.add(start); }

    /// False if something cannot be read.
    template <class Memory>
    [[gnu::always_inline]] bool add(PythonReader<Memory>& reader, const PythonSight& sight) noexcept {
        PythonCodeHead head;
        typename PythonReader<Memory>::Text file;
        std::uintptr_t lines = 0;
        std::size_t line_bytes = 0;
        if (!reader.head(sight.code, head) || !reader.text(head.file, file) ||
            !reader.bytes(head.lines, lines, line_bytes))
            return false;
        if (row_.room() < frame_words)
            row_.fold();
        row_.add_pair(sight.code, std::uint64_t{sight.instruction} << 1 | sight.entered);
        row_.add_pair(head.name, static_cast<std::uint64_t>(head.first_line));
        row_.add_pair(file.bytes, line_bytes);
        return ends(reader, file.at, file.bytes) && ends(reader, lines, line_bytes);
    }

    Value value() const noexcept { return row_.value(); }

private:
    static constexpr std::size_t end = 64; ///< bytes that are read at each end
    static constexpr std::size_t block = 16;
    static constexpr std::size_t frame_words = 6 + 2 * 2 * end / sizeof(std::uint64_t);

    /// The first and the last bytes of [at, at + size), in blocks from either end that may meet in the middle.
    template <class Memory>
    [[gnu::always_inline]] bool ends(PythonReader<Memory>& reader, std::uintptr_t at,
                                     std::size_t size) noexcept {
        if (size < block)
            return add_block(reader, at, size);
        std::size_t from_start = 0;
        for (; from_start < end && from_start + block <= size; from_start += block)
            if (!add_block(reader, at + from_start, block))
                return false;
        const std::size_t left = std::min(size - from_start, end);
        for (std::size_t from_end = 0; from_end < left; from_end += block)
            if (!add_block(reader, at + size - from_end - block, block))
                return false;
        return true;
    }

    template <class Memory>
    [[gnu::always_inline]] bool add_block(PythonReader<Memory>& reader, std::uintptr_t at,
                                          std::size_t bytes) noexcept {
        std::uint64_t words[block / sizeof(std::uint64_t)] = {};
        if (!reader.copy(at, words, bytes))
            return false;
        row_.add_pair(words[0], words[1]);
        return true;
    }

    Fingerprint row_;
};

} // namespace umadvisor::record

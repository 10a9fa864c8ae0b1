/// What tells one Python stack from another without looking it up.
#pragma once

#include "interposer/record/python_frames.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::record {

/// A hash over everything a stack's definition follows from: where each frame is in its code, and what the code
/// is. The address of a code object is not enough: of those that are made and thrown away (exec, a notebook's
/// cells) the next takes the place of the last, and its name, file and line table theirs. So what they hold is
/// looked at as well, of long ones both ends.
class PythonKey {
public:
    struct Value {
        std::uint64_t low, high;
        bool operator==(const Value&) const noexcept = default;
    };

    explicit PythonKey(std::uint64_t start) noexcept : low_(start), high_(~start) {}

    /// False where something cannot be read.
    template <class Memory>
    [[gnu::always_inline]] bool add(PythonReader<Memory>& reader, const PythonSight& sight) noexcept {
        PythonCodeHead head;
        typename PythonReader<Memory>::Text file;
        std::uintptr_t lines = 0;
        std::size_t line_bytes = 0;
        if (!reader.head(sight.code, head) || !reader.text(head.file, file) ||
            !reader.bytes(head.lines, lines, line_bytes))
            return false;
        words(sight.code, std::uint64_t{sight.instruction} << 1 | sight.entered);
        words(head.name, static_cast<std::uint64_t>(head.first_line));
        return ends(reader, file.at, file.bytes) && ends(reader, lines, line_bytes);
    }

    Value value() const noexcept { return {low_, high_}; }

private:
    /// One multiplication for 16 bytes, each half of the product in one of two sums.
    [[gnu::always_inline]] void words(std::uint64_t first, std::uint64_t second) noexcept {
        __extension__ using Wide = unsigned __int128;
        const Wide product =
            static_cast<Wide>(first ^ low_ ^ 0xa0761d6478bd642fu) * (second ^ high_ ^ 0xe7037ed1a0b428dbu);
        low_ = static_cast<std::uint64_t>(product) + (second << 32 | second >> 32);
        high_ = static_cast<std::uint64_t>(product >> 64) ^ (first << 16 | first >> 48) ^ high_ << 1;
    }

    /// The first and the last bytes of [at, at + size), and the size.
    template <class Memory>
    [[gnu::always_inline]] bool ends(PythonReader<Memory>& reader, std::uintptr_t at,
                                     std::size_t size) noexcept {
        constexpr std::size_t end = 64;
        std::uint64_t part[2 * end / 8];
        if (size >= 2 * end) {
            if (!reader.copy(at, part, end) || !reader.copy(at + size - end, part + end / 8, end))
                return false;
        } else {
            std::memset(part, 0, sizeof part);
            if (!reader.copy(at, part, size))
                return false;
        }
        const std::size_t used = (std::min(size, 2 * end) + 15) / 16 * 2;
        words(size, used);
        for (std::size_t i = 0; i < used; i += 2)
            words(part[i], part[i + 1]);
        return true;
    }

    std::uint64_t low_, high_;
};

} // namespace umadvisor::record

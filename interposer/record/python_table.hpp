/// The code objects and Python frames that the trace has defined.
#pragma once

#include "interposer/record/mutex.hpp"
#include "interposer/record/number_table.hpp"
#include "interposer/record/python_frames.hpp"
#include "interposer/record/python_memory.hpp"
#include "trace/types.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Recognised by their content and not by their address, since a cell that is compiled again is the same code.
/// Thread-safe.
class PythonTable {
public:
    constexpr PythonTable() noexcept = default;

    /// Number of the stack, which the first call defines: `sights` from the innermost frame outwards. 0 if it
    /// cannot be read, or without memory.
    template <class Memory>
    std::uint32_t stack(PythonReader<Memory>& reader, const PythonSight* sights, int count,
                        trace::LineTable format) noexcept;

private:
    static constexpr std::size_t most_lines = std::size_t{1} << 20; ///< bytes of a line table that are kept

    template <class Memory>
    std::uint32_t code(PythonReader<Memory>& reader, std::uintptr_t object, trace::LineTable format) noexcept;
    template <class Memory>
    bool text(PythonReader<Memory>& reader, std::uintptr_t object, char* to, std::size_t& size) noexcept;
    void define_code(std::uint64_t id, std::uint64_t first_line, trace::LineTable format) noexcept;
    std::string_view all_lines() const noexcept { return {reinterpret_cast<const char*>(lines_), line_bytes_}; }
    std::uint32_t frame(std::uint32_t parent, std::uint32_t code, const PythonSight& sight) noexcept;

    Mutex mutex_{Lock::texts};
    NumberTable codes_{Bound::python_code}, frames_{Bound::python_frames};
    // The current code object:
    std::uint8_t* lines_ = nullptr;
    std::size_t file_bytes_ = 0, name_bytes_ = 0, line_bytes_ = 0;
    char file_[trace::max_text] = {}, name_[trace::max_text] = {};
    std::uint8_t characters_[4 * trace::max_text] = {};
};

} // namespace umadvisor::record

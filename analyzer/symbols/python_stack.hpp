/// Python stacks of a trace as places in the source.
#pragma once

#include "analyzer/symbols/python_lines.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace umadvisor::reader {
class Dictionary;
}

namespace umadvisor::trace {
struct PythonFrame;
}

namespace umadvisor::symbols {

/// The recorder takes 128 frames of either kind; a damaged trace may hold a loop of them.
inline constexpr std::size_t deepest = 256;

struct PythonPlace {
    std::string_view function, file;
    int line = 0;         ///< 0: not known
    bool entered = false; ///< C has called it: the next frame outwards ran in another call of the interpreter
};

/// Lines of frames. Reads the table of a code object once. `dictionary` must outlive it. Not thread-safe.
class PythonLines {
public:
    explicit PythonLines(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}
    /// 0 where it is not known.
    int of(const trace::PythonFrame& frame);

private:
    const reader::Dictionary& dictionary_;
    std::unordered_map<std::uint64_t, std::vector<LineRange>> tables_; ///< by code object
};

/// All places of the stack whose innermost PythonFrame is `innermost`, that one first. They refer to the
/// dictionary.
std::vector<PythonPlace> python_stack(const reader::Dictionary& dictionary, PythonLines& lines,
                                      std::uint64_t innermost);

} // namespace umadvisor::symbols

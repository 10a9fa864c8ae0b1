/// Python stacks of a trace as places in the source.
#pragma once

#include "analyzer/symbols/python_lines.hpp"
#include "analyzer/symbols/shared_text.hpp"

#include <cstddef>
#include <cstdint>
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
    SharedText function, file;
    int line = 0;         ///< 0: not known
    bool entered = false; ///< C has called it: the next frame outwards ran in another call of the interpreter
};

/// Places of frames. Reads the names and the table of a code object once. `dictionary` must outlive it. Not
/// thread-safe.
class PythonLines {
public:
    explicit PythonLines(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}
    PythonPlace of(const trace::PythonFrame& frame);

private:
    struct Code {
        SharedText function, file;
        std::vector<LineRange> table;
    };
    const reader::Dictionary& dictionary_;
    std::unordered_map<std::uint64_t, Code> codes_;
};

/// All places of the stack whose innermost PythonFrame is `innermost`, that one first.
std::vector<PythonPlace> python_stack(const reader::Dictionary& dictionary, PythonLines& lines,
                                      std::uint64_t innermost);

} // namespace umadvisor::symbols

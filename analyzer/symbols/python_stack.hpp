/// Python stacks of a trace as places in the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace umadvisor::reader {
class Dictionary;
}

namespace umadvisor::trace {
struct PythonFrame;
}

namespace umadvisor::symbols {

/// A damaged trace may hold a loop of frames.
inline constexpr std::size_t deepest = 1024;

struct PythonPlace {
    std::string_view function, file;
    int line = 0;         ///< 0: not known
    bool entered = false; ///< C has called it: the next frame outwards ran in another call of the interpreter
};

/// Line of a frame; 0 where it is not known.
int line_of(const reader::Dictionary& dictionary, const trace::PythonFrame& frame);

/// All places of the stack whose innermost PythonFrame is `innermost`, that one first. They refer to the
/// dictionary.
std::vector<PythonPlace> python_stack(const reader::Dictionary& dictionary, std::uint64_t innermost);

} // namespace umadvisor::symbols

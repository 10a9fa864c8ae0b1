/// Stacks in which Python frames stand where the interpreter ran them.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "analyzer/symbols/python_stack.hpp"

#include <cstdint>
#include <functional>

namespace umadvisor::reader {
class Dictionary;
}

namespace umadvisor::symbols {

/// What a native frame in the object that holds the interpreter is.
enum class InterpreterFrame : std::uint8_t {
    evaluation, ///< the loop that runs Python code
    c_code,     ///< another function of the interpreter
    other,      ///< of a program that has the interpreter built in
};

/// Called for each frame, the innermost first: the id of a native Frame record, or 0 and a Python frame. False:
/// no more frames are wanted.
using VisitFrame = std::function<bool(std::uint64_t native, const PythonPlace* python)>;

/// Goes through the stack that events name. Each call of the interpreter's loop gives way to the Python frames
/// that it ran, its other C frames to nothing. `kind` is asked for frames of the interpreter's object only, and
/// only where there are Python frames.
void for_each_frame(const reader::Dictionary& dictionary, PythonLines& lines, ids::StackId stack,
                    const std::function<InterpreterFrame(std::uint64_t native)>& kind, const VisitFrame& visit);

} // namespace umadvisor::symbols

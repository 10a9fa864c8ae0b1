/// Python stacks: the frames that an interpreter of the process ran when a call was made. Definitions, all
/// since version 1.1. FORMAT.md says how they join the native stacks.
#pragma once

#include "trace/types.hpp"

namespace umadvisor::trace {

/// A Python interpreter of the process.
struct Interpreter {
    static constexpr Type type = Type::interpreter;
    static constexpr std::string_view name = "Interpreter";
    std::uint64_t module = 0;        ///< Module record of the object that holds it; 0: not known
    std::string_view implementation; ///< "CPython 3.11.2"
    std::string_view trouble;        ///< why its frames are not recorded; empty: they are

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("module", r.module);
        v.text("implementation", r.implementation);
        v.text("trouble", r.trouble);
    }
};

/// A code object: a function's, or a module's. Its line table is as the interpreter has it.
struct PythonCode {
    static constexpr Type type = Type::python_code;
    static constexpr std::string_view name = "PythonCode";
    std::uint64_t id = 0;
    std::uint64_t first_line = 0;
    LineTable format{};
    std::string_view file, function; ///< function: the qualified name where the interpreter has one
    std::string_view lines;          ///< raw bytes; what is longer goes on in PythonLines

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.number("first_line", r.first_line);
        v.number("format", r.format);
        v.text("file", r.file);
        v.text("function", r.function);
        v.text("lines", r.lines);
    }
};

/// More of a code object's line table.
struct PythonLines {
    static constexpr Type type = Type::python_lines;
    static constexpr std::string_view name = "PythonLines";
    std::uint64_t code = 0;
    std::uint64_t offset = 0; ///< of the first byte in the table
    std::string_view lines;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("code", r.code);
        v.number("offset", r.offset);
        v.text("lines", r.lines);
    }
};

/// One edge of the tree of Python stacks: a stack is the id of its innermost frame.
struct PythonFrame {
    static constexpr Type type = Type::python_frame;
    static constexpr std::string_view name = "PythonFrame";
    std::uint64_t id = 0, parent = 0; ///< parent 0: outermost
    std::uint64_t code = 0;
    std::uint64_t instruction = 0; ///< byte offset into the code of what the frame is at
    std::uint64_t entered = 0;     ///< 1: the interpreter was entered for it, by a call from C

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("id", r.id);
        v.number("parent", r.parent);
        v.number("code", r.code);
        v.number("instruction", r.instruction);
        v.number("entered", r.entered);
    }
};

} // namespace umadvisor::trace

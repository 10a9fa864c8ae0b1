/// A program in Python as a scenario: calls have lines.
#pragma once

#include "found.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace umadvisor::test {

class PythonProgram : public Scenario {
public:
    static constexpr const char* script = "/home/user/train.py";

    PythonProgram() {
        trace::Interpreter interpreter;
        interpreter.module = 1;
        builder.add(interpreter);
    }

    /// A call that the script makes at this line, by way of code of these files, the innermost first. Each has
    /// a stack of its own.
    std::uint64_t call_at(int line, std::initializer_list<const char*> files = {}) {
        std::uint64_t python = frame_of(script, 0);
        std::vector<const char*> inwards(files);
        for (std::size_t i = inwards.size(); i-- > 0;)
            python = frame_of(inwards[i], python);
        trace::Frame joined;
        joined.id = 1'000'000 + ++stacks_;
        joined.parent = stack();
        joined.python = python;
        builder.add(joined);
        lines_[joined.id] = first_at_.try_emplace(line, joined.id).first->second;
        return joined.id;
    }
    /// A call of a thread without Python.
    std::uint64_t call_elsewhere() { return stack(); }

    findings::LineOf line_of() const {
        return [lines = lines_](std::uint64_t stack) {
            const auto found = lines.find(stack);
            return found == lines.end() ? stack : found->second;
        };
    }
    std::vector<findings::Finding> found() {
        reader::Trace trace(path());
        const model::Profile profile(trace);
        return findings::find_all(profile, line_of()).all;
    }

    /// The host's own time.
    void pass(std::uint64_t nanoseconds) { now += nanoseconds - 1000; } ///< calls leave 1000 behind them
    void wait(std::uint64_t stack, std::uint64_t duration) {
        synchronize({.kind = trace::SyncKind::stream, .stack = stack, .duration = duration});
    }

private:
    std::uint64_t frame_of(const char* file, std::uint64_t parent) {
        trace::PythonCode code;
        code.id = ++codes_;
        code.file = file;
        code.function = "f";
        builder.add(code);
        trace::PythonFrame frame;
        frame.id = codes_;
        frame.parent = parent;
        frame.code = codes_;
        builder.add(frame);
        return frame.id;
    }

    std::uint64_t codes_ = 0, stacks_ = 0;
    std::map<std::uint64_t, std::uint64_t> lines_; ///< the stack that stands for a stack's line
    std::map<int, std::uint64_t> first_at_;
};

} // namespace umadvisor::test

#include "analyzer/advice/findings.hpp"
/// A program in Python as a scenario: calls have lines.
#pragma once

#include "found.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::test {

class PythonProgram : public Scenario {
public:
    static constexpr const char* script = "/home/user/train.py";

    PythonProgram() : PythonProgram(std::string()) {}
    /// `through`: the library of the framework that makes all calls; empty: none is known.
    explicit PythonProgram(std::string through) : library_(std::move(through)) {
        builder.add(trace::Interpreter{.module = 1});
    }

    /// A call that the script makes at this line, by way of code of these files, the innermost first. Each has
    /// a stack of its own.
    std::uint64_t call_at(int line, std::initializer_list<const char*> files = {}) {
        std::uint64_t python = frame_of(script, line, 0);
        std::vector<const char*> inwards(files);
        for (std::size_t i = inwards.size(); i-- > 0;)
            python = frame_of(inwards[i], 1, python);
        const std::uint64_t joined = 1'000'000 + ++stacks_;
        builder.frame(joined, native(), 0, 0, python);
        lines_[joined] = first_at_.try_emplace(line, joined).first->second;
        return joined;
    }
    /// A call of a thread without Python.
    std::uint64_t call_elsewhere() { return stack(); }

    rules::LineOf line_of() const {
        return [lines = lines_](ids::StackId stack) {
            const auto found = lines.find(stack.number());
            return found == lines.end() ? stack : ids::StackId(found->second);
        };
    }
    Found found() { return findings_of(*this, {}, line_of()); }

    /// The host's own time.
    void pass(std::uint64_t nanoseconds) { now += nanoseconds - 1000; } ///< calls leave 1000 behind them
    void wait(std::uint64_t stack, std::uint64_t duration) {
        synchronize({.kind = trace::SyncKind::stream, .stack = stack, .duration = duration});
    }

private:
    std::uint64_t native() {
        constexpr std::uint64_t module = 5, frame = 2'000'000;
        if (library_.empty())
            return stack();
        if (!std::exchange(has_library_, true))
            builder.module(module, library_).frame(frame, 0, 0x5000, module);
        return frame;
    }
    /// Each line is two bytes of code.
    std::uint64_t frame_of(const char* file, int line, std::uint64_t parent) {
        const auto [code, fresh] = codes_.try_emplace(file, codes_.size() + 1);
        if (fresh) {
            std::string table;
            for (int i = 0; i < 100; ++i)
                table += "\x02\x01";
            trace::PythonCode record{.id = code->second,
                                     .format = trace::LineTable::ranges,
                                     .file = file,
                                     .function = "f",
                                     .lines = table};
            builder.add(record);
        }
        builder.python_frame(++frames_, parent, code->second, 2 * static_cast<std::uint64_t>(line));
        return frames_;
    }

    std::map<std::string, std::uint64_t> codes_;
    std::uint64_t frames_ = 0, stacks_ = 0;
    std::string library_;
    bool has_library_ = false;
    std::map<std::uint64_t, std::uint64_t> lines_; ///< the stack that stands for a stack's line
    std::map<int, std::uint64_t> first_at_;
};

} // namespace umadvisor::test

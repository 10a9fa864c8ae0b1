#include "analyzer/symbols/merged_stack.hpp"

#include "analyzer/reader/dictionary.hpp"

#include <algorithm>

namespace umadvisor::symbols {
namespace {

/// Native frames, the innermost first.
std::vector<std::uint64_t> native_frames(const reader::Dictionary& dictionary, std::uint64_t id) {
    std::vector<std::uint64_t> frames;
    while (id != 0 && frames.size() < deepest) {
        const auto frame = dictionary.frames.find(id);
        if (frame == dictionary.frames.end())
            break;
        frames.push_back(id);
        id = frame->second.parent;
    }
    return frames;
}

bool is_in_interpreter(const reader::Dictionary& dictionary, std::uint64_t native) {
    const std::uint64_t module = dictionary.frames.at(native).module;
    return module != 0 &&
           std::ranges::any_of(dictionary.interpreters,
                               [module](const trace::Interpreter& each) { return each.module == module; });
}

/// Python frames that are still to come.
class PythonFrames {
public:
    explicit PythonFrames(std::vector<PythonPlace> frames) : frames_(std::move(frames)) {}

    /// Visits the frames of one call of the interpreter. False: no more frames are wanted.
    bool one_call(const VisitFrame& visit) {
        while (next_ < frames_.size()) {
            const PythonPlace& frame = frames_[next_++];
            if (!visit(0, &frame))
                return false;
            if (frame.entered)
                break;
        }
        return true;
    }
    bool all(const VisitFrame& visit) {
        while (next_ < frames_.size())
            if (!one_call(visit))
                return false;
        return true;
    }
    bool any() const { return !frames_.empty(); }

private:
    std::vector<PythonPlace> frames_;
    std::size_t next_ = 0;
};

} // namespace

void for_each_frame(const reader::Dictionary& dictionary, PythonLines& lines, ids::StackId stack,
                    const std::function<InterpreterFrame(std::uint64_t native)>& kind,
                    const VisitFrame& visit) {
    const auto joined = dictionary.frames.find(stack.number());
    const std::uint64_t innermost = joined == dictionary.frames.end() ? 0 : joined->second.python;
    PythonFrames python(innermost == 0 ? std::vector<PythonPlace>()
                                       : python_stack(dictionary, lines, innermost));
    const std::vector<std::uint64_t> native =
        native_frames(dictionary, innermost == 0 ? stack.number() : joined->second.parent);
    std::size_t outermost = native.size(); // of the interpreter's frames
    for (std::size_t i = 0; i < native.size() && python.any(); ++i)
        if (is_in_interpreter(dictionary, native[i]))
            outermost = i;
    for (std::size_t i = 0; i < native.size(); ++i) {
        const bool asked = python.any() && is_in_interpreter(dictionary, native[i]);
        const InterpreterFrame what = asked ? kind(native[i]) : InterpreterFrame::other;
        if (what == InterpreterFrame::evaluation && !python.one_call(visit))
            return;
        if (i == outermost && !python.all(visit)) // the loop's frames were not known as such
            return;
        if (what == InterpreterFrame::other && !visit(native[i], nullptr))
            return;
    }
    python.all(visit); // the native stack was cut off before
}

} // namespace umadvisor::symbols

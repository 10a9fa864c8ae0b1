#include "analyzer/symbols/python_framework.hpp"

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/symbols/python_stack.hpp"

#include <algorithm>
#include <cstddef>
#include <fnmatch.h>
#include <iterator>

namespace umadvisor::symbols {
namespace {

struct FrameworkPath {
    PythonFramework framework;
    const char* glob;
};
// Libraries that are built on one of these need no line: its frames follow theirs.
constexpr FrameworkPath framework_paths[] = {
    {PythonFramework::torch, "*-packages/torch/*"},
    {PythonFramework::torch, "*-packages/triton/*"},
    {PythonFramework::torch, "*/torchinductor_*/*"},
    {PythonFramework::torch, "*/libtorch*.so*"},
    {PythonFramework::torch, "*/libc10*.so*"},
    {PythonFramework::cupy, "*-packages/cupy/*"},
    {PythonFramework::cupy, "*-packages/cupyx/*"},
    {PythonFramework::cupy, "*-packages/cupy_backends/*"},
    {PythonFramework::cupy, "cupy/*"},
    {PythonFramework::cupy, "cupy_backends/*"},
    {PythonFramework::jax, "*-packages/jax/*"},
    {PythonFramework::jax, "*-packages/jaxlib/*"},
    {PythonFramework::jax, "*-packages/jax_plugins/*"},
    {PythonFramework::jax, "*-packages/jax_cuda*"},
    {PythonFramework::numba, "*-packages/numba/cuda/*"},
    {PythonFramework::numba, "*-packages/numba_cuda/*"},
};

} // namespace

PythonFramework framework_of(const std::string& path) {
    const auto* const found = std::ranges::find_if(framework_paths, [&path](const FrameworkPath& each) {
        return ::fnmatch(each.glob, path.c_str(), 0) == 0;
    });
    return found == std::end(framework_paths) ? PythonFramework::none : found->framework;
}

PythonFramework framework_at(const reader::Dictionary& dictionary, ids::StackId stack) {
    const auto joined = dictionary.frames.find(stack.number());
    if (joined == dictionary.frames.end() || joined->second.python == 0)
        return PythonFramework::none;
    PythonFramework framework = PythonFramework::none;
    const auto note = [&framework](const std::string& path) {
        const PythonFramework known = framework_of(path);
        framework = known != PythonFramework::none ? known : framework;
        return known != PythonFramework::none;
    };
    std::size_t depth = 0;
    for (auto frame = dictionary.python_frames.find(joined->second.python);
         frame != dictionary.python_frames.end() && depth < deepest; ++depth) {
        const auto code = dictionary.python_codes.find(frame->second.code);
        const std::string file(code == dictionary.python_codes.end() ? "" : code->second.file);
        if (!note(file) && file.find("-packages/") == std::string::npos)
            break; // the program's own
        frame = dictionary.python_frames.find(frame->second.parent);
    }
    // Frameworks that are compiled have no Python frames where Python calls them.
    const bool compiled = framework == PythonFramework::none;
    for (auto frame = dictionary.frames.find(joined->second.parent);
         compiled && frame != dictionary.frames.end() && depth < 2 * deepest; ++depth) {
        if (std::ranges::find(dictionary.interpreters, frame->second.module, &trace::Interpreter::module) !=
            dictionary.interpreters.end())
            break;
        const auto module = dictionary.modules.find(frame->second.module);
        if (module != dictionary.modules.end())
            note(std::string(module->second.path));
        frame = dictionary.frames.find(frame->second.parent);
    }
    return framework;
}

} // namespace umadvisor::symbols

#include "analyzer/symbols/python_framework.hpp"

#include <algorithm>
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

} // namespace umadvisor::symbols

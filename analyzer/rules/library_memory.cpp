#include "analyzer/rules/library_memory.hpp"

#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/merged_stack.hpp"

#include <algorithm>
#include <fnmatch.h>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

struct Library {
    const char* glob; ///< of the file name of its object
    LibraryMemory memory;
};
constexpr Library libraries[] = {
    {"libcublas*", {"cuBLAS", "CUBLAS_WORKSPACE_CONFIG or cublasSetWorkspace sets it"}},
    {"libcudnn*",
     {"cuDNN",
      "torch.backends.cudnn.benchmark = False limits it to the algorithms that its heuristics choose"}},
    {"libnccl*", {"NCCL", "NCCL_BUFFSIZE and NCCL_MAX_NCHANNELS"}},
    {"libnvshmem*", {"NVSHMEM", "NVSHMEM_SYMMETRIC_SIZE"}},
    {"libcusolver*", {"cuSOLVER", ""}},
    {"libcusparse*", {"cuSPARSE", ""}},
    {"libcufft*", {"cuFFT", "cufftSetAutoAllocation and a work area that plans share"}},
    {"libcutensor*", {"cuTENSOR", ""}},
    {"libcurand*", {"cuRAND", ""}},
};
/// PyTorch's allocator, and the library that asks it for workspaces. Requests for tensors come through
/// libtorch_cpu instead.
constexpr const char *torch_allocator = "libc10_cuda*", *torch_library = "libtorch_cuda*";
constexpr LibraryMemory torch_workspaces{"PyTorch's workspaces",
                                         "CUBLAS_WORKSPACE_CONFIG and CUBLASLT_WORKSPACE_SIZE"};
constexpr const char* cuda_objects[] = {"libcuda.so*", "libcudart*", "libumadvisor.so*"};
constexpr std::uint64_t least_library_bytes = 16 << 20;

bool name_matches(const char* glob, const std::string& name) {
    return ::fnmatch(glob, name.c_str(), 0) == 0;
}

/// Calls `visit(name of the object, id of the frame)` for each frame with an object that is not CUDA's, the
/// innermost first, until it returns false.
template <class Visit>
void walk_objects(const reader::Dictionary& dictionary, ids::StackId stack, const Visit& visit) {
    std::size_t depth = 0;
    for (std::uint64_t id = stack.number(), parent = 0; id != 0 && depth < symbols::deepest;
         ++depth, id = parent) {
        const auto frame = dictionary.frames.find(id);
        if (frame == dictionary.frames.end())
            return;
        parent = frame->second.parent;
        const auto module = dictionary.modules.find(frame->second.module);
        if (frame->second.python != 0 || module == dictionary.modules.end())
            continue;
        const std::string_view path = module->second.path;
        const std::string name(path.substr(path.rfind('/') + 1));
        if (std::ranges::none_of(cuda_objects,
                                 [&name](const char* glob) { return name_matches(glob, name); }) &&
            !visit(name, id))
            return;
    }
}

} // namespace

const LibraryMemory* library_at(std::string_view path) {
    const std::string name(path.substr(path.rfind('/') + 1));
    const auto* const known = std::ranges::find_if(
        libraries, [&name](const Library& library) { return name_matches(library.glob, name); });
    return known == std::end(libraries) ? nullptr : &known->memory;
}

const LibraryMemory* library_memory_at(const reader::Dictionary& dictionary, ids::StackId stack) {
    bool in_allocator = false;
    const LibraryMemory* found = nullptr;
    walk_objects(dictionary, stack, [&](const std::string& name, std::uint64_t) {
        if (name_matches(torch_allocator, name))
            return in_allocator = true;
        found = !in_allocator                       ? library_at(name)
                : name_matches(torch_library, name) ? &torch_workspaces
                                                    : nullptr;
        return false;
    });
    return found;
}

LibraryCall library_call_at(const reader::Dictionary& dictionary, ids::StackId stack) {
    LibraryCall call;
    walk_objects(dictionary, stack, [&](const std::string& name, std::uint64_t frame) {
        if (const LibraryMemory* const library = library_at(name)) {
            call.memory = library;
            return true;
        }
        call.caller = call.memory == nullptr ? ids::StackId() : ids::StackId(frame);
        return false;
    });
    return call;
}

std::string library_memory_text(const Profile& profile) {
    std::map<const LibraryMemory*, std::uint64_t> bytes;
    for (const auto& [site, totals] : profile.allocations().sites())
        if (site.memory == trace::Memory::device && site.origin == trace::Origin::program)
            if (const LibraryMemory* const library = library_memory_at(profile.dictionary(), site.stack))
                bytes[library] += totals.peak_bytes;
    std::vector<std::pair<std::uint64_t, const LibraryMemory*>> largest_first;
    for (const auto& [library, taken] : bytes)
        largest_first.emplace_back(taken, library);
    std::ranges::sort(largest_first, [](const auto& a, const auto& b) {
        return std::pair(b.first, a.second->library) < std::pair(a.first, b.second->library);
    });
    std::string text;
    for (const auto& [taken, library] : largest_first)
        if (taken >= least_library_bytes)
            text += fmt::format("{}{} by {}{}", text.empty() ? "" : "; ", bytes_text(taken), library->library,
                                library->setting.empty() ? "" : fmt::format(" ({})", library->setting));
    return text;
}

} // namespace umadvisor::rules

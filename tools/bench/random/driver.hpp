/// The driver's entry points for which the runtime has no equal on simcuda, as a program asks for them.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace random_program {

inline void* driver_entry(const char* name) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    void* const found = library ? dlsym(library, name) : nullptr;
    if (!found) {
        std::fprintf(stderr, "random_program: no %s\n", name);
        std::exit(2);
    }
    return found;
}

// cuda.h makes the newest name of each by a macro: it is expanded before it becomes a string.
#define NAME_OF(name) #name
#define ENTRY(member, name)                                                                                    \
    decltype(&name) member = reinterpret_cast<decltype(&name)>(driver_entry(NAME_OF(name)))

struct Driver {
    ENTRY(copy_3d, cuMemcpy3D);
    ENTRY(copy_3d_async, cuMemcpy3DAsync);
    ENTRY(set_rows, cuMemsetD2D8);
    ENTRY(set_rows_async, cuMemsetD2D8Async);
    ENTRY(set_words, cuMemsetD32Async);
    ENTRY(context, cuCtxGetCurrent);
    ENTRY(graph, cuGraphCreate);
    ENTRY(graph_nodes, cuGraphGetNodes);
    ENTRY(add_copy, cuGraphAddMemcpyNode);
    ENTRY(add_set, cuGraphAddMemsetNode);
    ENTRY(add_kernel, cuGraphAddKernelNode);
    ENTRY(kernel_parameters, cuGraphKernelNodeGetParams);
    ENTRY(set_exec_kernel, cuGraphExecKernelNodeSetParams);
    ENTRY(make_pool, cuMemPoolCreate);
    ENTRY(allocate_from_pool, cuMemAllocFromPoolAsync);
};

#undef ENTRY
#undef NAME_OF

inline const Driver& driver() {
    static const Driver only;
    return only;
}

} // namespace random_program

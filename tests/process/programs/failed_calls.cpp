// Calls every recorded entry point of the driver twice, each call one that the driver refuses: once with
// answers asked for in memory that holds 0xab and nothing else, once with answers asked for where no memory is.
// A driver that refuses a call need not have written to either, so nobody may read there. Prints what each call
// answers.
#include "entries.hpp"

#include "tools/simcuda/control.hpp"

#include <sys/mman.h>

namespace {

constexpr CUresult refusal = CUDA_ERROR_UNKNOWN;

CUstream stream = nullptr;
void* answers = nullptr;         ///< where all answers go
alignas(64) char given[1 << 16]; ///< what the program gives, all zero
simcuda::Control* (*control)() = nullptr;

/// Structures that the driver reads although their pointers say no const.
template <class Target>
constexpr bool is_given =
    std::is_const_v<Target> || std::is_same_v<Target, CUmemLocation> ||
    std::is_same_v<Target, CUgraphNodeParams> || std::is_same_v<Target, CUDA_GRAPH_INSTANTIATE_PARAMS> ||
    std::is_same_v<Target, void*>; // parameters of launches

/// Handles are null, structures are zero, numbers are one.
template <class Argument>
Argument argument() {
    using Target = std::remove_pointer_t<Argument>;
    if constexpr (std::is_same_v<Argument, CUstream>)
        return stream;
    else if constexpr (std::is_function_v<Target>)
        return nothing_like(Argument{});
    else if constexpr (std::is_pointer_v<Argument> && Complete<std::remove_cv_t<Target>>)
        return static_cast<Argument>(is_given<Target> ? static_cast<void*>(given) : answers);
    else if constexpr (std::is_arithmetic_v<Argument>)
        return Argument{1};
    else
        return Argument{};
}

template <class... Arguments>
CUresult call(CUresult (*entry)(Arguments...)) {
    return entry(argument<Arguments>()...);
}

void refuse(const char* entry) {
    simcuda::Failure& failure = control()->failures[0];
    failure = {};
    failure.result = refusal;
    std::strncpy(failure.entry, entry, sizeof failure.entry - 1);
}

void call_all() {
    for_each_entry([](const char* name, auto entry) {
        refuse(name);
        std::printf("%s: ", name);
        std::printf("%d\n", static_cast<int>(call(entry)));
    });
    control()->failures[0] = {};
}

} // namespace

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    make_context();
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    control = reinterpret_cast<decltype(control)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simcuda_get"));
    constexpr std::size_t bytes = 1 << 16;
    answers = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(answers, 0xab, bytes);
    call_all();
    mprotect(answers, bytes, PROT_NONE);
    call_all();
    return 0;
}

// Instructions that umadvisor adds to a launch, and lines of the cache that they lie in: the same numbers on
// every machine and every day, so a regression shows anywhere. A child makes the launches, by the driver's own
// address and by the wrapper, paused and recording; its parent takes it through them one instruction at a time
// (ptrace(2)). Prints one JSON line; with --profile FILE also how often each address of the recorded launches
// was passed.
#include "tools/bench/operations.hpp"

#include <csignal>
#include <map>
#include <set>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace bench;

constexpr int phases = 3, launches[phases] = {8, 8, 32}; // stepping takes 20 us an instruction
constexpr const char* phase_names[phases] = {"bare", "off", "record"};

using Passed = std::map<std::uint64_t, std::uint64_t>; ///< by address, how often

/// Below `depth` more frames. The volatile result keeps every level.
__attribute__((noinline)) int launch_at(int depth, const Operation& operation, Workplace& place, bool hooked,
                                        int count) {
    if (depth > 0) {
        volatile int result = launch_at(depth - 1, operation, place, hooked, count);
        return result;
    }
    // The first half is for whatever is remembered of launches; the second is counted.
    for (int i = 0; i < 2 * count; ++i) {
        if (i == count)
            raise(SIGTRAP);
        operation.call(place, hooked);
    }
    raise(SIGTRAP);
    return 0;
}

void make_launches(const char* name, int depth) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    if (cudaFree(nullptr) != cudaSuccess)
        give_up("cudaFree");
    const Doors doors;
    const Kernels kernels = load_kernels();
    Workplace place;
    must(doors.cuStreamCreate.hooked(&place.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    must(doors.cuMemAllocHost_v2.hooked(&place.pinned, 4096), "cuMemAllocHost");
    must(doors.cuEventCreate.hooked(&place.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    for (CUdeviceptr& array : place.arrays)
        must(doors.cuMemAlloc_v2.hooked(&array, 64 << 10), "cuMemAlloc");
    const auto operation = operation_of(name, doors, kernels);
    if (operation == nullptr || operation->prepare(place) != nullptr)
        give_up("no such operation");
    for (int phase = 0; phase < phases; ++phase) {
        if (phase == phases - 1)
            doors.cuProfilerStart.hooked();
        launch_at(depth, *operation, place, phase != 0, launches[phase]);
    }
}

/// Waits for the next SIGTRAP of the running child's own; false when it has ended.
bool wait_for_phase(pid_t child) {
    for (int status = 0;;) {
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return false;
        if (WSTOPSIG(status) == SIGTRAP)
            return true;
        ptrace(PTRACE_CONT, child, nullptr, WSTOPSIG(status));
    }
}

/// Whether the stop is raise(2)'s and not a step's.
bool raised(pid_t child) {
    siginfo_t info{};
    return ptrace(PTRACE_GETSIGINFO, child, nullptr, &info) == 0 && info.si_code == SI_TKILL;
}

std::uint64_t step_through(pid_t child, Passed& passed) {
    std::uint64_t steps = 0;
    for (int status = 0;; ++steps) {
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            give_up("the child ended too soon, with status", status);
        if (raised(child))
            return steps;
#if defined(__x86_64__)
        user_regs_struct registers{};
        ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        ++passed[registers.rip];
#else
        static_cast<void>(passed);
#endif
    }
}

/// Lines of the cache that most launches of a phase pass.
std::set<std::uint64_t> lines_of(const Passed& passed, int count) {
    std::set<std::uint64_t> lines;
    for (const auto& [address, times] : passed)
        if (2 * times > static_cast<std::uint64_t>(count))
            lines.insert(address / 64);
    return lines;
}

/// The shim's addresses, from where it is loaded: the child is a copy of this process.
void write_profile(const char* path, const Passed& passed) {
    std::FILE* const file = std::fopen(path, "w");
    if (file == nullptr)
        give_up(path);
    for (const auto& [address, times] : passed) {
        Dl_info info{};
        const bool known = dladdr(reinterpret_cast<void*>(address), &info) != 0;
        std::fprintf(file, "%s 0x%lx %.3f\n", known ? info.dli_fname : "?",
                     address - (known ? reinterpret_cast<std::uint64_t>(info.dli_fbase) : 0),
                     static_cast<double>(times) / launches[phases - 1]);
    }
    std::fclose(file);
}

} // namespace

int main(int argc, char** argv) {
    const char *operation = "launch", *profile = nullptr;
    int depth = 12;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--operation") == 0)
            operation = argv[i + 1];
        else if (std::strcmp(argv[i], "--depth") == 0)
            depth = std::atoi(argv[i + 1]);
        else if (std::strcmp(argv[i], "--profile") == 0)
            profile = argv[i + 1];
        else
            give_up("usage: [--operation NAME] [--depth FRAMES] [--profile FILE]");
    }
    const pid_t child = fork(); // nothing of CUDA has been entered yet
    if (child == 0) {
        make_launches(operation, depth);
        _exit(0);
    }
    double steps[phases] = {}; // a launch
    Passed passed[phases];
    for (int phase = 0; phase < phases; ++phase) {
        if (!wait_for_phase(child))
            give_up("the child did not come to its launches");
        steps[phase] = static_cast<double>(step_through(child, passed[phase])) / launches[phase];
        ptrace(PTRACE_CONT, child, nullptr, nullptr);
    }
    waitpid(child, nullptr, 0);
    if (profile != nullptr)
        write_profile(profile, passed[phases - 1]);
    std::set<std::uint64_t> added = lines_of(passed[phases - 1], launches[phases - 1]);
    for (const std::uint64_t line : lines_of(passed[0], launches[0]))
        added.erase(line);
    std::printf("{\"operation\": \"%s\", \"depth\": %d", operation, depth);
    for (int phase = 0; phase < phases; ++phase)
        std::printf(", \"%s\": %.1f", phase_names[phase], steps[phase]);
    std::printf(", \"added_off\": %.1f, \"added\": %.1f, \"added_lines\": %zu}\n", steps[1] - steps[0],
                steps[2] - steps[0], added.size());
}

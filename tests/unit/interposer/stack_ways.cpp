#include "stack_ways.hpp"

#include "stack_frames.hpp"

#include <alloca.h>
#include <array>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <sys/mman.h>
#include <ucontext.h>

namespace umadvisor::record {
namespace {

/// splitmix64: small enough to be made anew for each tree.
struct Choice {
    std::uint64_t state;

    std::uint64_t operator()() noexcept {
        std::uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
};

using Call = void (*)(void (*)(int), int);
constexpr std::size_t fiber_bytes = 128 * 1024, most_fibers = 4;

void (*leaf_to_call)() = nullptr;

Choice common{0}, own{0};
int middle = 0;             ///< depth at which the trees differ
std::uint64_t own_left = 0; ///< calls of the tree's own that are still to be made
enum class Part { before, differs, levels, after } part = Part::before;

std::uint64_t choice() noexcept {
    return part == Part::differs ? own() : common();
}

volatile std::uint64_t sink;
PluginPlace place;
void* plugin = nullptr;
Call plugin_call = nullptr, generated_call = nullptr;
std::size_t fibers = 0; ///< that the tree is in

[[gnu::noinline]] void wander(int depth);

/// The one call site of most calls.
[[gnu::noinline]] void through(void (*way)(int), int depth) {
    way(depth);
    sink = sink + 1;
}

// Each keeps its frame: something is left to do after the call.

[[gnu::noinline]] void plain(int depth) {
    wander(depth);
    sink = sink + 1;
}
[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] void with_frame_pointer(int depth) {
    wander(depth);
    sink = sink + 1;
}
[[gnu::noinline]] void wide(int depth) {
    volatile char room[208];
    room[depth] = 1;
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[depth]);
}
[[gnu::noinline]] void variable(int depth) {
    volatile char* const room = static_cast<volatile char*>(alloca(choice() % 4 * 32 + 16));
    room[0] = 1;
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[0]);
}
[[gnu::noinline]] void array_of_variable_length(int depth) {
    __extension__ volatile std::uint64_t room[choice() % 5 * 4 + 2];
    room[0] = 1;
    through(plain, depth);
    sink = sink + room[0];
}
[[gnu::noinline]] void realigned(int depth) {
    alignas(64) volatile char room[64];
    room[depth] = 1;
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[depth]);
}
[[gnu::noinline]] void variable_realigned(int depth) {
    alignas(128) volatile char aligned[128];
    volatile char* const room = static_cast<volatile char*>(alloca(choice() % 4 * 32 + 16));
    room[0] = 1;
    aligned[0] = 1;
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[0]) + static_cast<std::uint64_t>(aligned[0]);
}
/// Whatever lies above: what is called from here has its frames at the same places. What earlier calls have
/// left between stays there.
[[gnu::noinline]] void level(int depth) {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    volatile char* const room = static_cast<volatile char*>(alloca(here % 4096 / 16 * 16 + 16));
    asm volatile("" ::"r"(room));
    through(choice() % 2 != 0 ? plain : with_frame_pointer, depth);
    sink = sink + 1;
}
[[gnu::noinline]] void with_data_in_rbp(int depth) {
    call_with_data_in_rbp(wander, depth, choice());
    sink = sink + 1;
}
[[gnu::noinline]] void based_on_rbx(int depth) {
    call_based_on_rbx(wander, depth, 0x60);
    sink = sink + 1;
}
[[gnu::noinline]] void level_by_rbx(int depth) {
    call_based_on_rbx(wander, depth, 0xff0);
    sink = sink + 1;
}
/// With alloca, gcc finds the way back through a word that it pushes, not by rbp.
[[gnu::noinline]] void level_by_alignment(int depth) {
    alignas(1024) volatile char room[16];
    room[0] = 1;
    asm volatile("" ::"r"(alloca(16)));
    wander(depth);
    sink = sink + static_cast<std::uint64_t>(room[0]);
}
[[gnu::noinline]] void without_unwind_info(int depth) {
    asm volatile("" ::"r"(alloca(16))); // its caller has to be left by rbp: nothing else is known there
    call_without_unwind_info(wander, depth);
    sink = sink + 1;
}
int continue_from_search(const void* depth, const void*) {
    wander(*static_cast<const int*>(depth));
    sink = sink + 1;
    return 0;
}
/// Through a frame of libc.
[[gnu::noinline]] void called_back(int depth) {
    char one = 0;
    sink = sink + (bsearch(&depth, &one, 1, 1, continue_from_search) != nullptr);
}
[[gnu::noinline]] void through_plugin(int depth) {
    if (plugin_call != nullptr)
        plugin_call(wander, depth);
    else
        wander(depth);
    sink = sink + 1;
}
[[gnu::noinline]] void through_generated_code(int depth) {
    asm volatile("" ::"r"(alloca(16))); // see without_unwind_info()
    if (generated_call != nullptr)
        generated_call(wander, depth);
    else
        wander(depth);
    sink = sink + 1;
}

char* fiber_stack(std::size_t number) noexcept {
    static std::array<char*, most_fibers> stacks{};
    if (stacks[number] == nullptr)
        stacks[number] = static_cast<char*>(mmap(nullptr, fiber_bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    return stacks[number];
}
struct Fiber {
    ucontext_t self, caller;
};
std::array<Fiber, most_fibers> contexts;

[[gnu::noinline]] void in_fiber(int depth) {
    if (fibers == most_fibers)
        return plain(depth);
    Fiber& fiber = contexts[fibers];
    getcontext(&fiber.self);
    fiber.self.uc_stack.ss_sp = fiber_stack(fibers);
    fiber.self.uc_stack.ss_size = fiber_bytes;
    fiber.self.uc_link = &fiber.caller;
    makecontext(&fiber.self, reinterpret_cast<void (*)()>(wander), 1, depth);
    ++fibers;
    swapcontext(&fiber.caller, &fiber.self);
    --fibers;
    sink = sink + 1;
}
[[gnu::noinline]] void on_stack_of_its_own(int depth) {
    if (fibers == most_fibers)
        return plain(depth);
    char* const stack = fiber_stack(fibers++);
    call_on_stack(wander, depth, stack + fiber_bytes - choice() % 4 * 64);
    --fibers;
    sink = sink + 1;
}
/// A stack that lies within the thread's own.
[[gnu::noinline]] void on_part_of_the_stack(int depth) {
    alignas(16) volatile char room[fiber_bytes];
    room[0] = 1;
    call_on_stack(wander, depth, const_cast<char*>(room) + sizeof room - choice() % 4 * 64);
    sink = sink + static_cast<std::uint64_t>(room[0]);
}

volatile sig_atomic_t depth_in_handler = 0;
void handle(int) {
    wander(depth_in_handler);
    sink = sink + 1;
}
[[gnu::noinline]] void in_signal_handler(int depth) {
    depth_in_handler = depth;
    raise(choice() % 2 != 0 ? SIGUSR1 : SIGUSR2);
    sink = sink + 1;
}

constexpr void (*usual_ways[])(int) = {
    plain,        with_frame_pointer, wide,          variable,     array_of_variable_length,
    realigned,    variable_realigned, level,         level_by_rbx, with_data_in_rbp,
    based_on_rbx, called_back,        through_plugin};
constexpr void (*levels[])(int) = {level, level_by_rbx, level_by_alignment};
/// Stacks that are not remembered: with too many of them none would be.
constexpr void (*rare_ways[])(int) = {in_fiber,          on_stack_of_its_own,    on_part_of_the_stack,
                                      in_signal_handler, through_generated_code, without_unwind_info};

[[gnu::noinline]] void wander(int depth) {
    if (depth == 0) {
        leaf_to_call();
        sink = sink + 1;
        return;
    }
    if (part == Part::before && depth == middle)
        part = Part::differs;
    else if (part == Part::levels)
        part = Part::after;
    if (part == Part::differs && own_left-- == 0)
        part = Part::levels;
    void (*const way)(int) = part == Part::levels ? levels[choice() % std::size(levels)]
                             : choice() % 64 == 0 ? rare_ways[choice() % std::size(rare_ways)]
                                                  : usual_ways[choice() % std::size(usual_ways)];
    if (part != Part::differs)
        --depth;
    if (choice() % 4 != 0)
        through(way, depth);
    else
        way(depth);
    sink = sink + 1;
}

} // namespace

void call_through_tree(std::uint64_t number, void (*leaf)()) {
    leaf_to_call = leaf;
    common.state = number / trees_alike;
    own.state = ~number;
    own_left = number % trees_alike;
    part = Part::before;
    const int depth = static_cast<int>(common() % 12 + 1);
    middle = static_cast<int>(common() % static_cast<std::uint64_t>(depth)) + 1;
    wander(depth);
}

bool replace_code(const char* path) noexcept {
    if (plugin != nullptr)
        dlclose(plugin);
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void* const function = plugin != nullptr ? dlsym(plugin, "plugin_call") : nullptr;
    if (function == nullptr)
        return false;
    std::memcpy(&plugin_call, &function, sizeof function);
    const auto first = reinterpret_cast<std::uintptr_t>(function);
    place.same_place += first == place.first;
    ++place.loads;
    place.first = first;
    place.last = first + 64;

    //          push %rbp; mov %rsp, %rbp; sub $room, %rsp;      mov %rdi, %rax; mov %esi, %edi; call *%rax;
    //          leave; ret
    unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0,    0,    0,
                            0,    0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0xc9, 0xc3};
    code[7] = static_cast<unsigned char>(place.loads % 4 * 32);
    static void* page = nullptr;
    if (page == nullptr)
        page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
        return false;
    std::memcpy(page, code, sizeof code);
    std::memcpy(&generated_call, &page, sizeof page);
    return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
}

const PluginPlace& plugin_place() noexcept {
    return place;
}

void prepare_signals() noexcept {
    static std::array<char, 256 * 1024> memory;
    stack_t stack{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_flags |= SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);
}

} // namespace umadvisor::record

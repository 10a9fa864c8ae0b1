#include "interposer/record/stacks.hpp"

#include "interposer/base/text.hpp"
#include "interposer/record/frame_records.hpp"
#include "interposer/record/frame_table.hpp"
#include "interposer/record/loaded_objects.hpp"
#include "interposer/record/loader_use.hpp"
#include "interposer/record/lock_check.hpp"
#include "interposer/record/modules.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/python_stacks.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/sink.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/record/unwinder.hpp"
#include "interposer/record/unwinder_pipe.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace umadvisor::record {
namespace {

constexpr int max_depth = 128;
constexpr int max_own_frames = 16; ///< of ours and the loader's, between the program and the unwinder

constinit Unwinder libunwind{};
constinit UnwinderPipe unwinder_pipe;
constinit FrameTable known_frames;
constinit int depth = 0; ///< 0: stacks are off
/// The addresses of our own object, to leave our frames out. Empty in a test, where we are part of the program.
constinit std::uintptr_t own_first = 0, own_last = 0;
/// Code that was on a stack was unloaded, and other code may be loaded at its address. unw_backtrace remembers
/// for good by address how a frame is left, which would be wrong for the new code.
constinit std::atomic<bool> only_steps{false};
constinit bool records_python = false;
constinit std::atomic<bool> objects_have_come{false}; ///< since a Python interpreter was looked for

void forget_frames(std::uintptr_t first, std::uintptr_t last) noexcept {
    if (!known_frames.forget(first, last) || !libunwind.steps)
        return;
    libunwind.forget_code();
    only_steps.store(true, std::memory_order_relaxed);
}

/// Follows dlopen and dlclose.
void refresh_modules() noexcept {
    if (module_map.refresh(forget_frames)) {
        void_stack_caches();
        objects_have_come.store(true, std::memory_order_relaxed);
    }
}

#if defined(__aarch64__)
const char* find_unwinder(std::string_view) noexcept {
    return nullptr;
}

int walk(const StackCache&, void** found, int capacity) noexcept {
    return walk_frame_records(found, capacity);
}
#else
/// Returns nullptr or why there is none.
const char* find_unwinder(std::string_view directory) noexcept {
    const char* const why = load_unwinder(libunwind, directory);
    if (why == nullptr) {
        unwinder_pipe.open(libunwind.backtrace);
        libunwind.take_over_memory();
    }
    return why;
}

/// Stacks that each thread unwinds by steps first. unw_backtrace begins by filling a quarter of a megabyte for
/// a thread (src/x86_64/Gtrace.c, trace_cache_create), which takes as long as these: short threads do without
/// it.
constexpr std::uint32_t first_by_steps = 6;

/// Fills in return addresses, innermost first. Returns how many.
int walk(const StackCache& cache, void** found, int capacity) noexcept {
    if (!unwinder_pipe.intact())
        return 0;
    begin_walk();
    const bool by_steps =
        only_steps.load(std::memory_order_relaxed) || (libunwind.steps && cache.learned < first_by_steps);
    int count = 0;
    holding_the_loader([&] {
        count = by_steps ? libunwind.backtrace_by_steps(found, capacity) : libunwind.backtrace(found, capacity);
    });
    return count;
}
#endif

bool is_ours(const void* address) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return own_first <= at && at < own_last;
}

/// Unwinds. `caller` is the return address of record::stack(), whose frame address is `frame`.
[[gnu::noinline, gnu::cold]] std::uint32_t unwind(StackCache& cache, std::uintptr_t caller,
                                                  std::uintptr_t frame) noexcept {
    const Quiet quiet;
    const LoaderUse use;
    if (!use) {
        sink.header()->stacks_cut.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    refresh_modules();
    struct Addresses {
        void* all[max_depth + max_own_frames] = {};
    };
    const OffStack<Addresses> addresses;
    auto& found = addresses->all;
    const int count = walk(cache, found, depth + max_own_frames);
    void** const end = found + std::clamp(count, 0, depth + max_own_frames);
    void** const innermost = std::find(found, end, reinterpret_cast<void*>(caller));
    void** first = std::find_if_not(innermost, end, &is_ours);
    void** const last = std::find(first, std::min(end, first + depth), nullptr);
    const bool ended = last < first + depth;
    // Code generated at run time has no unwinding information, so its callers cannot be found.
    if (first == last || (ended && module_map.id(reinterpret_cast<std::uintptr_t>(last[-1]) - 1) == 0))
        sink.header()->stacks_cut.fetch_add(1, std::memory_order_relaxed);
    if (first == last)
        return 0;
    std::uint32_t id = 0;
    for (void** at = last; at != first;) {
        id = known_frames.intern(id, reinterpret_cast<std::uintptr_t>(*--at));
        if (id == 0)
            return 0;
    }
    cache.learn(libunwind, caller, frame, {innermost, static_cast<std::size_t>(last - innermost), ended}, id);
    return id;
}

} // namespace

void prepare_stacks(int frames, bool python) noexcept {
    if (frames <= 0)
        return;
    refresh_modules();
    std::string_view directory;
    LoadedModule own;
    if (module_map.find(reinterpret_cast<std::uintptr_t>(&prepare_stacks), own) &&
        own.id != 1) { // 1: the program
        own_first = own.first;
        own_last = own.last;
        directory = base::first(own.path, own.path.rfind('/') + 1);
    }
    if (const char* why = find_unwinder(directory)) {
        note("no call stacks: %s", why);
        return;
    }
    refresh_modules(); // libunwind itself
    depth = std::min(frames, max_depth);
    records_python = python;
    if (python)
        look_for_python(depth);
}

void follow_objects() noexcept {
    if (depth == 0 || !recording())
        return;
    const Quiet quiet;
    if (const LoaderUse use; use)
        refresh_modules();
}

void follow_modules() noexcept {
    if (depth == 0 || !recording())
        return;
    follow_objects();
    const Quiet quiet;
    // Only here, since looking for an interpreter locks the loader, and dlsym(3) is about to do so anyway.
    if (objects_have_come.load(std::memory_order_relaxed) &&
        objects_have_come.exchange(false, std::memory_order_relaxed) && records_python)
        look_for_python(depth);
}

std::string_view object_on_stack(std::uint64_t id, int nearest,
                                 std::span<const std::string_view> names) noexcept {
    while (id != 0 && nearest > 0) {
        const FrameTable::Frame frame = known_frames.look_up(static_cast<std::uint32_t>(id));
        id = frame.parent;
        if (frame.python)
            continue;
        --nearest;
        LoadedModule module;
        if (!module_map.find(frame.address - 1, module)) // of the call before the return address
            continue;
        const std::string_view name = base::after(module.path, module.path.rfind('/') + 1);
        for (const std::string_view prefix : names)
            if (name.starts_with(prefix))
                return module.path;
    }
    return {};
}

namespace {

/// `caller` and `frame` are those of the function that this is inlined into.
template <PythonDetail detail>
[[gnu::always_inline]] inline std::uint32_t stack_of(std::uintptr_t caller, std::uintptr_t frame) noexcept {
    assert_no_lock("the loader, for a stack,");
    if (depth == 0 || !recording())
        return 0;
    ThreadWriter* writer = thread_writer();
    if (writer == nullptr)
        return 0;
    // Reading the loader's counters costs more than a hit, so hits do it only sometimes. Until then they miss
    // an object that was replaced by another one with the very same return addresses.
    constexpr std::uint32_t hits_between_looks = 1024;
    std::uint32_t id = 0;
    if (++writer->stacks.looks % hits_between_looks != 0)
        id = writer->stacks.find(caller, frame);
    if (id == 0)
        id = unwind(writer->stacks, caller, frame);
    if (python_is_there.load(std::memory_order_acquire)) [[unlikely]]
        id = with_python(writer->python, known_frames, id, detail);
    asm volatile("" : "+r"(id));
    return id;
}

} // namespace

#define UMADVISOR_HERE                                                                                         \
    reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),                                             \
        reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))

// Not inlined, and no tail call within: the cache's key is the function's own frame.
[[gnu::noinline, gnu::hot]] std::uint64_t stack() noexcept {
    return stack_of<PythonDetail::whole>(UMADVISOR_HERE);
}

[[gnu::noinline, gnu::hot]] std::uint64_t launch_stack() noexcept {
    return stack_of<PythonDetail::innermost>(UMADVISOR_HERE);
}

#undef UMADVISOR_HERE

std::uint64_t stack_key(std::uint64_t stack) noexcept {
    return known_frames.key(static_cast<std::uint32_t>(stack));
}

/// Frames hold return addresses, so the instruction is given as one that ends there.
std::uint64_t instruction(std::uintptr_t address) noexcept {
    if (depth == 0 || address == 0)
        return 0;
    const Quiet quiet;
    return known_frames.intern(0, address + 1);
}

} // namespace umadvisor::record

#include "interposer/record/python_stacks.hpp"

#include "interposer/record/frame_table.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/python_interpreter.hpp"
#include "interposer/record/python_table.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/runtime/message.hpp"

#include <algorithm>
#include <unistd.h>

namespace umadvisor::record {
namespace {

constexpr int max_python_depth = 128;

constinit PythonInterpreter interpreter{};
constinit PythonTable python_table;
constinit Mutex checking{Lock::modules};
constinit std::atomic<bool> checked{false}; ///< the frames of a thread were what they should be
constinit int python_depth = 0;

template <class Memory>
using Reader = PythonReader<Memory>;

struct PythonSights {
    PythonSight all[max_python_depth];
};

void define_interpreter(const char* trouble) noexcept {
    trace::Interpreter record;
    record.module = interpreter.module;
    record.implementation = interpreter.implementation;
    record.trouble = trouble;
    define(record);
}

void give_up(const char* why) noexcept {
    python_is_there.store(false, std::memory_order_relaxed);
    define_interpreter(why);
    runtime::say("no Python frames: %s: %s", interpreter.implementation, why);
}

bool has_type(Reader<CheckedMemory>& reader, std::uintptr_t object, std::uintptr_t type) noexcept {
    std::uintptr_t found_type = 0;
    return reader.word(object + python::object_type, found_type) && found_type == type;
}

/// Whether frames that were read are valid: every object has its expected type, and names are strings.
bool is_sound(Reader<CheckedMemory>& reader, const PythonSight* sights, int count) noexcept {
    for (int i = 0; i < count; ++i) {
        PythonCodeHead head;
        Reader<CheckedMemory>::Text text;
        std::uintptr_t lines = 0;
        std::size_t size = 0;
        if (!reader.head(sights[i].code, head) || head.first_line < 0 ||
            !has_type(reader, head.file, interpreter.text_type) || !reader.text(head.file, text) ||
            !has_type(reader, head.name, interpreter.text_type) || !reader.text(head.name, text) ||
            text.bytes == 0 || !has_type(reader, head.lines, interpreter.bytes_type) ||
            !reader.bytes(head.lines, lines, size))
            return false;
    }
    return true;
}

/// The first stack that is read decides whether the interpreter has the layout of its version.
bool check(PythonStacks& known, std::uintptr_t state) noexcept {
    const Quiet quiet;
    const Guard guard(checking);
    if (checked.load(std::memory_order_relaxed))
        return true;
    if (!python_is_there.load(std::memory_order_acquire))
        return false;
    known.memory.begin();
    Reader<CheckedMemory> reader(known.memory, interpreter.layout, interpreter.code_type);
    const OffStack<PythonSights> stack;
    auto& sights = stack->all;
    const int count = reader.frames(state, sights, python_depth);
    if (count == 0)
        return false; // left to a thread that runs Python
    if (count < 0 || !is_sound(reader, sights, count)) {
        give_up("its frames are not where they should be");
        return false;
    }
    define_interpreter("");
    checked.store(true, std::memory_order_release);
    return true;
}

/// Whether the interpreter, and with it this thread's state, cannot end while it is read: the thread has the
/// GIL, or it is the one that would end it. Other threads without the GIL may be daemons (threading.Thread),
/// whose state and frames the interpreter frees at its end, while they are still in a call.
bool is_safe(PythonStacks& known, void* state) noexcept {
    if (!known.asked) {
        known.main = seat.thread == static_cast<std::uint32_t>(getpid());
        known.asked = true;
    }
    return known.main || (interpreter.attached != nullptr && interpreter.attached() == state);
}

template <class Memory>
bool key_of(Reader<Memory>& reader, const PythonSight* sights, int count, PythonKey& key) noexcept {
    for (int i = 0; i < count; ++i)
        if (!key.add(reader, sights[i]))
            return false;
    return true;
}

/// Defines a stack that is new, or was forgotten.
template <class Memory>
[[gnu::noinline, gnu::cold]] std::uint32_t learn(Reader<Memory>& reader, FrameTable& frames,
                                                 std::uint32_t native, const PythonSight* sights,
                                                 int count) noexcept {
    const Quiet quiet;
    const std::uint32_t python = python_table.stack(reader, sights, count, interpreter.layout.lines);
    return python != 0 ? frames.intern_python(native, python) : 0;
}

template <class Memory>
std::uint32_t follow(PythonStacks& known, Memory& memory, FrameTable& frames, std::uint32_t native,
                     std::uintptr_t state, PythonDetail detail) noexcept {
    Reader<Memory> reader(memory, interpreter.layout, interpreter.code_type);
    const OffStack<PythonSights> stack;
    auto& sights = stack->all;
    int count = reader.frames(state, sights, detail == PythonDetail::whole ? python_depth : 1);
    PythonKey key(std::uint64_t{native} << 1 | (detail == PythonDetail::innermost));
    if (count <= 0 || !key_of(reader, sights, count, key))
        return native;
    if (const std::uint32_t id = known.find(key.value()))
        return id;
    if (detail == PythonDetail::innermost && (count = reader.frames(state, sights, python_depth)) <= 0)
        return native;
    const std::uint32_t id = learn(reader, frames, native, sights, count);
    if (id == 0)
        return native;
    known.remember(key.value(), id);
    return id;
}

/// Reads through the kernel, which takes long, so launches do it only once for each native stack.
[[gnu::noinline]] std::uint32_t follow_checked(PythonStacks& known, FrameTable& frames, std::uint32_t native,
                                               std::uintptr_t state, PythonDetail detail) noexcept {
    const PythonKey::Value key{native, 0};
    if (detail == PythonDetail::innermost)
        if (const std::uint32_t id = known.find(key))
            return id;
    if (interpreter.finalizing != nullptr && interpreter.finalizing() != 0)
        return native;
    known.memory.begin();
    const std::uint32_t id = follow(known, known.memory, frames, native, state, PythonDetail::whole);
    if (detail == PythonDetail::innermost)
        known.remember(key, id);
    return id;
}

} // namespace

void look_for_python(int frames) noexcept {
    static constinit std::atomic_flag looking{};
    // The search itself calls dlsym(3), which leads here. Once an interpreter was found, there is no search.
    if (!has_thread_pages() || looking.test_and_set(std::memory_order_acquire))
        return;
    const Quiet quiet;
    const char* trouble = nullptr;
    switch (find_python(interpreter, trouble)) {
    case PythonFound::nothing:
        looking.clear(std::memory_order_release);
        break;
    case PythonFound::unreadable:
        give_up(trouble);
        break;
    case PythonFound::readable:
        python_depth = std::min(frames, max_python_depth);
        python_is_there.store(true, std::memory_order_release);
    }
}

std::uint32_t with_python(PythonStacks& known, FrameTable& frames, std::uint32_t native,
                          PythonDetail detail) noexcept {
    void* const state = interpreter.this_thread();
    if (state == nullptr || native == 0)
        return native;
    const auto address = reinterpret_cast<std::uintptr_t>(state);
    if (!checked.load(std::memory_order_acquire) && !check(known, address)) [[unlikely]]
        return native;
    if (!is_safe(known, state))
        return follow_checked(known, frames, native, address, detail);
    DirectMemory memory;
    return follow(known, memory, frames, native, address, detail);
}

} // namespace umadvisor::record

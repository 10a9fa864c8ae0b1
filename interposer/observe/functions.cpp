#include "interposer/observe/functions.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/base/pages.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

namespace umadvisor::observe {

constinit base::Table<detail::FunctionSlot, base::Searched::by_any_thread, 4> detail::functions;

namespace {

using attach::Entry;
using attach::real;

using detail::functions;
using Slot = detail::FunctionSlot;

record::Mutex mutex{record::Lock::tables};
std::uint64_t last_id = 0;
std::size_t names_noted = 0; ///< bounded, since handles are used again with other names
base::Arena arena;           ///< names and Functions

Slot* find_slot(std::uint64_t handle) {
    return functions.find(base::hash(handle), [handle](const Slot& slot) {
        return slot.handle.load(std::memory_order_acquire) == handle;
    });
}

/// The slot of `handle`, made if need be; null without memory or room. Under the lock.
Slot* slot_for(std::uint64_t handle) {
    if (Slot* const known = find_slot(handle))
        return known;
    if (functions.used() == record::most(record::Bound::kernels)) {
        record::reached(record::Bound::kernels);
        return nullptr;
    }
    Slot* const slot = functions.add(base::hash(handle));
    if (slot != nullptr)
        slot->handle.store(handle, std::memory_order_release);
    return slot;
}

/// What the driver says about a handle.
struct Description {
    static constexpr std::uint32_t max_wide = 512;
    const char* name = nullptr;
    bool layout_known = false;
    std::uint32_t parameters = 0, parameter_bytes = 0, wide_count = 0;
    Parameter wide[max_wide];

    template <class Handle, class NameOf, class ParameterOf>
    void ask(Handle handle, NameOf name_of, ParameterOf parameter_of) {
        if (name_of(&name, handle) != CUDA_SUCCESS)
            name = nullptr;
        for (;;) {
            std::size_t offset = 0, bytes = 0;
            const CUresult answer = parameter_of(handle, parameters, &offset, &bytes);
            if (answer != CUDA_SUCCESS) {
                // Past the last parameter: CUDA_ERROR_INVALID_VALUE. Else the driver is too old (not
                // supported), or the handle is of the other kind.
                layout_known = answer == CUDA_ERROR_INVALID_VALUE && name != nullptr && wide_count <= max_wide;
                break;
            }
            if (bytes >= 8 && wide_count++ < max_wide)
                wide[wide_count - 1] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes),
                                        parameters};
            parameter_bytes = std::max(parameter_bytes, static_cast<std::uint32_t>(offset + bytes));
            ++parameters;
        }
        wide_count = std::min(wide_count, max_wide);
    }
};

bool same_layout(const Function& known, const Description& now) {
    return known.layout_known == now.layout_known && known.parameters == now.parameters &&
           known.parameter_bytes == now.parameter_bytes && known.wide_count == now.wide_count &&
           std::equal(known.wide, known.wide + known.wide_count, now.wide,
                      [](const Parameter& a, const Parameter& b) {
                          return a.offset == b.offset && a.bytes == b.bytes && a.index == b.index;
                      });
}

/// The words of `wide`, one by one, where they are few.
void list_words(Function& function) {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < function.wide_count; ++i)
        for (std::uint32_t at = 0; at + 8 <= function.wide[i].bytes; at += 8, ++count)
            if (count < Function::max_words)
                function.words[count] = {static_cast<std::uint16_t>(function.wide[i].index),
                                         static_cast<std::uint16_t>(at)};
    // Kernels have at most 4096 parameters of 32764 bytes in all, so the numbers fit.
    function.usual = function.layout_known && count <= Function::max_words;
    if (!function.usual)
        return;
    for (; count % Function::group != 0; ++count)
        function.words[count] = function.words[0];
    function.groups = static_cast<std::uint16_t>(count / Function::group);
}

Function* make(const Description& now) {
    // Both are in one piece and never freed: they are few, and readers use them without a lock.
    void* const memory = arena.take(sizeof(Function) + now.wide_count * sizeof(Parameter), alignof(Function));
    if (memory == nullptr)
        return nullptr;
    auto* const function = static_cast<Function*>(memory);
    auto* const wide = reinterpret_cast<Parameter*>(function + 1);
    std::copy(now.wide, now.wide + now.wide_count, wide);
    function->layout_known = now.layout_known;
    function->parameters = now.parameters;
    function->parameter_bytes = now.parameter_bytes;
    function->wide_count = now.wide_count;
    function->wide = wide;
    list_words(*function);
    return function;
}

const Function* publish(std::uint64_t handle, const Description& now) {
    const record::Guard guard(mutex);
    Slot* const slot = slot_for(handle);
    if (slot == nullptr)
        return nullptr;
    if (const Function* const other = slot->function.load(std::memory_order_relaxed))
        return other; // another thread has published it meanwhile
    const std::string_view name = now.name != nullptr ? std::string_view(now.name) : slot->looked_up.name;
    const bool same = slot->former != nullptr && slot->former_name == name && same_layout(*slot->former, now);
    if (same && slot->former->module == slot->looked_up.module) {
        slot->function.store(slot->former, std::memory_order_release);
        return slot->former;
    }
    if (!same && last_id == record::most(record::Bound::kernels)) {
        record::reached(record::Bound::kernels);
        return nullptr;
    }
    Function* const function = make(now);
    if (function == nullptr)
        return nullptr;
    function->module = slot->looked_up.module;
    function->id = same ? slot->former->id : ++last_id;
    bool kept = false;
    slot->former_name = arena.keep(name, kept);
    slot->former = function;
    if (!same) {
        trace::Function record;
        record.id = function->id;
        record.handle = handle;
        record.parameters = function->parameters;
        record.parameter_bytes = function->parameter_bytes;
        record.symbol = name;
        record::define(record);
    }
    slot->function.store(function, std::memory_order_release);
    return function;
}

bool is_known_kernel(std::uint64_t handle) {
    const record::Guard guard(mutex);
    const Slot* const slot = find_slot(handle);
    return slot != nullptr && slot->looked_up.kernel;
}

void note(std::uint64_t handle, std::uint64_t module, const char* name, bool kernel) {
    if (handle == 0)
        return;
    const record::Quiet quiet;
    const std::string_view text = name != nullptr ? std::string_view(name) : std::string_view();
    const record::Guard guard(mutex);
    Slot* const slot = slot_for(handle);
    if (slot == nullptr ||
        (slot->looked_up.module == module && slot->looked_up.kernel == kernel && slot->looked_up.name == text))
        return;
    bool kept = slot->looked_up.name == text;
    if (!kept && names_noted == record::most(record::Bound::kernels))
        return record::reached(record::Bound::kernels);
    names_noted += !kept;
    slot->looked_up = {module, kept ? slot->looked_up.name : arena.keep(text, kept), kernel};
    slot->function.store(nullptr, std::memory_order_release); // it may be another function now
}

} // namespace

const Function* detail::search_function(std::uint64_t handle) noexcept {
    const Slot* const slot = find_slot(handle);
    return slot != nullptr ? slot->function.load(std::memory_order_acquire) : nullptr;
}

const Function* function_of(CUfunction handle) noexcept {
    const auto word = reinterpret_cast<std::uint64_t>(handle);
    if (word == 0)
        return nullptr;
    if (const Function* const known = known_function(handle)) [[likely]]
        return known;
    const record::Quiet quiet;
    const std::uint64_t start = record::now();
    // The driver is asked without our lock: it may lock, and a thread that holds its lock may wait for ours.
    const record::OffStack<Description> description;
    Description& now = *description;
    if (is_known_kernel(word))
        now.ask(reinterpret_cast<CUkernel>(handle), real<Entry::cuKernelGetName>(),
                real<Entry::cuKernelGetParamInfo>());
    else
        now.ask(handle, real<Entry::cuFuncGetName>(), real<Entry::cuFuncGetParamInfo>());
    const Function* const function = publish(word, now);
    record::charge(record::now() - start);
    return function;
}

void note_kernel(CUkernel kernel, CUlibrary library, const char* name) noexcept {
    note(reinterpret_cast<std::uint64_t>(kernel), reinterpret_cast<std::uint64_t>(library), name, true);
}

void note_function(CUfunction function, CUmodule module, const char* name) noexcept {
    note(reinterpret_cast<std::uint64_t>(function), reinterpret_cast<std::uint64_t>(module), name, false);
}

void forget_module(std::uint64_t module) noexcept {
    const record::Guard guard(mutex);
    for (Slot& slot : functions.slots()) {
        if (slot.free())
            continue;
        if (module == 0 || slot.looked_up.module == 0 || slot.looked_up.module == module) {
            slot.function.store(nullptr, std::memory_order_release);
            if (slot.looked_up.module == module)
                slot.looked_up = {};
        }
    }
}

} // namespace umadvisor::observe

#include "interposer/attach/driver.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/attach/wrapper_table.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"

#include <atomic>
#include <dlfcn.h>
#include <link.h>

namespace umadvisor::attach {

extern "C" {
/// Generated (exports_*.S): where the exported symbols lead, and the counting pass-throughs.
extern void* umadvisor_export_table[entry_count] __attribute__((visibility("hidden")));
extern void* const umadvisor_counted_table[entry_count] __attribute__((visibility("hidden")));
/// Jumped through by the dlsym thunk.
__attribute__((visibility("hidden"))) void* umadvisor_real_dlsym = nullptr;
}

namespace {

/// Driver address -> wrapper; open addressing, filled once.
struct Substitute {
    void* driver_address;
    void* wrapper;
};
constexpr std::size_t slots = 2048;
static_assert(slots > 2 * entry_count);
Substitute substitutes[slots];

constinit record::Mutex mutex{record::Lock::lists};
std::atomic<bool> found{false};
const void* driver_base = nullptr;
std::atomic<const void*> own_base{nullptr}; ///< of the object that is left alone
const char* path = "";
std::uint64_t (*clock_of_simulation)() = nullptr;
ToolsCommand tools_of_simulation = nullptr;
ParameterLookup parameter_of_simulation = nullptr;

std::size_t slot_of(const void* address) {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(address) >> 4) * 0x9e3779b97f4a7c15u >>
                                    53) %
           slots;
}

void insert(void* driver_address, void* wrapper, bool recorded) {
    std::size_t slot = slot_of(driver_address);
    while (substitutes[slot].driver_address != nullptr && substitutes[slot].driver_address != driver_address)
        slot = (slot + 1) % slots;
    // Two names of one function: the one that records is worth more.
    if (substitutes[slot].driver_address == nullptr || recorded)
        substitutes[slot] = {driver_address, wrapper};
}

/// What the loader says of the driver. It is asked before `mutex` is locked: a thread that runs a library's
/// constructor holds the loader's lock and may come here, so no thread that holds ours may wait for it.
struct Found {
    void* addresses[entry_count];
    const char* path = "";
    const void* base = nullptr;
    void* clock = nullptr;
    void* tools = nullptr;
    void* parameter = nullptr;
};

void look_for_all(void* handle, Found& answers) {
    for (std::size_t i = 0; i < entry_count; ++i)
        answers.addresses[i] = look_up(handle, entry_names[i].data());
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
        answers.path = map->l_name;
    Dl_info info;
    if (void* const init = answers.addresses[index(Entry::cuInit)]; init != nullptr && dladdr(init, &info) != 0)
        answers.base = info.dli_fbase;
    answers.clock = look_up(handle, "simcuda_clock_ns");
    answers.tools = look_up(handle, "simcuda_uvm_tools");
    answers.parameter = look_up(handle, "simcuda_uvm_parameter");
}

void fill_tables(const Found& answers) {
    for (std::size_t i = 0; i < entry_count; ++i) {
        void* const address = answers.addresses[i];
        if (address == nullptr)
            continue;
        umadvisor_real_table[i] = address;
        void* const recorder = wrapper_table[i];
        insert(address, recorder != nullptr ? recorder : umadvisor_counted_table[i], recorder != nullptr);
    }
    path = answers.path;
    driver_base = answers.base;
    clock_of_simulation = reinterpret_cast<std::uint64_t (*)()>(answers.clock);
    tools_of_simulation = reinterpret_cast<ToolsCommand>(answers.tools);
    parameter_of_simulation = reinterpret_cast<ParameterLookup>(answers.parameter);
    for (std::size_t i = 0; i < entry_count; ++i)
        __atomic_store_n(&umadvisor_export_table[i],
                         wrapper_table[i] != nullptr ? wrapper_table[i] : umadvisor_counted_table[i],
                         __ATOMIC_RELEASE); // calls may be on their way through it
}

} // namespace

void find_real_dlsym() noexcept {
    if (umadvisor_real_dlsym != nullptr)
        return;
    // Newest version first: dlsym moved into libc in 2.34, and a plain RTLD_NEXT look-up may find the oldest.
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
        if (void* const address = dlvsym(RTLD_NEXT, "dlsym", version)) {
            umadvisor_real_dlsym = address;
            return;
        }
}

void* look_up(void* handle, const char* name) noexcept {
    record::assert_no_lock("dlsym");
    find_real_dlsym();
    return reinterpret_cast<void* (*)(void*, const char*)>(umadvisor_real_dlsym)(handle, name);
}

bool find_driver() noexcept {
    if (found.load(std::memory_order_acquire))
        return true;
    if (!record::has_thread_pages())
        return false;
    record::assert_no_lock("dlopen");
    void* const handle =
        dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW); // keeps it loaded: tables point into it
    if (handle == nullptr)
        return false;
    const record::OffStack<Found> looked_for;
    Found& answers = *looked_for;
    look_for_all(handle, answers);
    const record::Guard guard(mutex);
    if (!found.load(std::memory_order_relaxed)) {
        fill_tables(answers);
        found.store(true, std::memory_order_release);
    }
    return true;
}

void* substitute(void* driver_address) noexcept {
    for (std::size_t slot = slot_of(driver_address); substitutes[slot].driver_address != nullptr;
         slot = (slot + 1) % slots)
        if (substitutes[slot].driver_address == driver_address)
            return substitutes[slot].wrapper;
    return nullptr;
}

void leave_alone(const void* code) noexcept {
    record::assert_no_lock("dladdr");
    Dl_info info;
    if (dladdr(code, &info) != 0)
        own_base.store(info.dli_fbase, std::memory_order_relaxed);
}

bool is_left_alone(const void* code) noexcept {
    record::assert_no_lock("dladdr");
    Dl_info info;
    return driver_base != nullptr && dladdr(code, &info) != 0 &&
           (info.dli_fbase == driver_base || info.dli_fbase == own_base.load(std::memory_order_relaxed));
}

const char* driver_path() noexcept {
    return path;
}

std::uint64_t (*simulated_clock() noexcept)() {
    return clock_of_simulation;
}

ToolsCommand simulated_tools() noexcept {
    return tools_of_simulation;
}

ParameterLookup simulated_parameter() noexcept {
    return parameter_of_simulation;
}

/// Called by the exported symbols before the driver is known; answers the table to go on through.
extern "C" __attribute__((visibility("hidden"))) void** umadvisor_find_driver() noexcept {
    return find_driver() ? umadvisor_export_table : umadvisor_real_table;
}

} // namespace umadvisor::attach

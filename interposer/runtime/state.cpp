#include "interposer/runtime/state.hpp"

#include "interposer/act/action.hpp"
#include "interposer/act/plan.hpp"
#include "interposer/attach/bypass.hpp"
#include "interposer/attach/driver.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/attach/wrapper_table.hpp"
#include "interposer/control/server.hpp"
#include "interposer/observe/driver_settings.hpp"
#include "interposer/observe/host_nodes.hpp"
#include "interposer/observe/launch_detail.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/loader_use.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/runtime/failures.hpp"
#include "interposer/runtime/fork.hpp"
#include "interposer/runtime/machine_rates.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/opened_trace.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/run_list.hpp"
#include "interposer/runtime/window.hpp"
#include "interposer/wrappers/hook.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::runtime {

using attach::Entry;
using attach::real;

namespace {

std::atomic<bool> entered{false};
/// Held while the driver and the loader are called, so waits for it are bounded.
pthread_mutex_t entering = PTHREAD_MUTEX_INITIALIZER;
constinit record::Mutex mutex{
    record::Lock::lists};    ///< guards the two lists below; nothing waits while it is held
std::atomic<pid_t> owner{0}; ///< the process whose trace it is

bool can_start_anew = false; ///< the variables of a forked child can be restored to those before the start
bool followed = false;       ///< this process is such a child

struct UnknownLookup {
    char symbol[64];
    int version;
    unsigned long long flags;
};
UnknownLookup early_lookups[record::most(record::Bound::early_lookups)];
int early_count = 0, early_lost = 0;
const char* runtime_object = nullptr;
std::atomic<int> greatest_version = 0; ///< that an address was asked for with
bool lists_are_recorded = false;       ///< so later entries are recorded at once

void define(const UnknownLookup& lookup) {
    trace::UnknownLookup record;
    record.symbol = lookup.symbol;
    record.version = static_cast<std::uint64_t>(lookup.version);
    record.flags = lookup.flags;
    record::define(record);
}

void define_runtime(const char* object) {
    trace::Runtime record;
    record.object = object;
    record.asked = static_cast<std::uint64_t>(greatest_version.load(std::memory_order_relaxed));
    record::define(record);
}

void record_lists() {
    const record::Guard guard(mutex);
    for (int i = 0; i < early_count; ++i)
        define(early_lookups[i]);
    for (; early_lost > 0; --early_lost)
        record::reached(record::Bound::early_lookups);
    if (runtime_object != nullptr)
        define_runtime(runtime_object);
    lists_are_recorded = true;
}

int attribute(CUdevice_attribute which, CUdevice device) {
    int value = 0;
    return real<Entry::cuDeviceGetAttribute>()(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

/// 0 if the driver does not know the attribute, or has no value for it.
std::uint64_t attribute_plus_one(CUdevice_attribute which, CUdevice device) {
    int value = -1;
    const CUresult status = real<Entry::cuDeviceGetAttribute>()(&value, which, device);
    return status == CUDA_SUCCESS && value >= 0 ? static_cast<std::uint64_t>(value) + 1 : 0;
}

/// None of these calls makes a context.
void describe_devices() {
    int count = 0;
    if (real<Entry::cuDeviceGetCount>()(&count) != CUDA_SUCCESS)
        return;
    bool rates_were_read = false;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        CUdevice device = 0;
        if (real<Entry::cuDeviceGet>()(&device, ordinal) != CUDA_SUCCESS)
            continue;
        trace::Device record;
        record.ordinal = static_cast<std::uint64_t>(ordinal);
        char name[256] = "";
        real<Entry::cuDeviceGetName>()(name, sizeof name, device);
        std::size_t bytes = 0;
        real<Entry::cuDeviceTotalMem_v2>()(&bytes, device);
        record.device_name = name;
        record.memory_bytes = bytes;
        const auto number = [&](CUdevice_attribute which) {
            return static_cast<std::uint64_t>(attribute(which, device));
        };
        record.compute_major = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        record.compute_minor = number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        record.managed_memory = number(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
        record.concurrent_managed_access = number(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
        record.pageable_memory_access = number(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
        record.copy_engines = number(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
        record.node = observe::node_of_device(device);
        if (record.pageable_memory_access != 0)
            observe::look_for_pageable_memory();
        record.addressing_told = 1;
        record.integrated = number(CU_DEVICE_ATTRIBUTE_INTEGRATED);
        record.pageable_uses_host_page_tables =
            number(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
        record.direct_managed_access_from_host =
            number(CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
        record.numa_config = attribute_plus_one(CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, device);
        if (record.numa_config == std::uint64_t{CU_DEVICE_NUMA_CONFIG_NUMA_NODE} + 1)
            record.memory_node = attribute_plus_one(CU_DEVICE_ATTRIBUTE_NUMA_ID, device);
        record::define(record);
        if (!rates_were_read) // reports go by the first
            define_machine_rates(record.device_name);
        rates_were_read = true;
    }
}

void describe() {
    for (std::size_t i = 0; i < attach::entry_count; ++i) {
        trace::Entry record;
        record.id = i;
        record.recorded = attach::wrapper_table[i] != nullptr;
        record.symbol = attach::entry_names[i];
        record::define(record);
    }
    trace::Driver driver;
    int version = 0;
    real<Entry::cuDriverGetVersion>()(&version);
    driver.version = static_cast<std::uint64_t>(version);
    driver.path = attach::driver_path();
    driver.simulated = attach::simulated_clock() != nullptr;
    observe::ReleaseText release;
    driver.release = observe::driver_release(release);
    driver.coherent_memory_mode = observe::coherent_memory_mode();
    driver.hmm_disabled = observe::hmm_disabled();
    record::define(driver);
    describe_devices();
    if (options().launches != LaunchDetail::full)
        observe::begin_brief_launches();
    for_each_setting([](std::string_view name, std::string_view value) {
        trace::Option record;
        record.option = name;
        record.value = value;
        record::define(record);
    });
}

/// Everything is ready to be recorded, and is from now on, or later.
bool begin_following() {
    const bool standby = options().mode == Mode::standby;
    const char* const trouble =
        record::follow({options().stack_frames, options().python, options().has_recordings(),
                        attach::simulated_clock(), options().ring.any() ? &note_failure : nullptr});
    if (trouble != nullptr) {
        say("%s; nothing is recorded", trouble);
        report_to_run(trace::RunEntryKind::trouble, "", trouble);
        return false;
    }
    return standby || open_first_trace();
}

/// A forked child must not write to its parent's trace, whose memory it shares. CUDA does not survive fork.
void after_fork_in_child() {
    record::forget_loader_users();
    record::abandon();
    observe::managed_watch().forget();
    control::forget();
    if (!options().follow_fork || !can_start_anew || record::is_confined())
        return;
    record::forget_threads();
    restore_variables();
    record::forget_left_pages();
    entering = PTHREAD_MUTEX_INITIALIZER; // it was locked when the variables were copied
    followed = true;
}

} // namespace

void enter() noexcept {
    if (entered.load(std::memory_order_acquire))
        return;
    const wrappers::KeepErrno keep;
    // Entering locks the loader, and this thread may hold that lock (CUDA in a library's constructor) while
    // another thread enters, so the wait is bounded. Calls of this thread before the other is done are then not
    // recorded.
    timespec end{};
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 2;
    if (pthread_mutex_clocklock(&entering, CLOCK_MONOTONIC, &end) != 0)
        return;
    if (!entered.load(std::memory_order_relaxed)) {
        warn_of_options();
        if (options().follow_fork)
            can_start_anew = remember_variables();
        remember_directory();
        if (begin_following()) {
            owner.store(getpid(), std::memory_order_relaxed);
            pthread_atfork(&record::wait_for_loader_users, &record::let_loader_users_in, &after_fork_in_child);
            describe();
            record_lists();
            act::initialize(act::with_plan(options()));
            open_window();
            control::begin();
        } else {
            act::refuse_unrecorded(options());
        }
        entered.store(true, std::memory_order_release);
    }
    pthread_mutex_unlock(&entering);
}

bool is_followed_child() noexcept {
    return followed;
}

void note_unknown_lookup(const char* symbol, int version, unsigned long long flags) noexcept {
    if (symbol == nullptr)
        return;
    const wrappers::KeepErrno keep;
    UnknownLookup lookup{"", version, flags};
    std::snprintf(lookup.symbol, sizeof lookup.symbol, "%s", symbol);
    const record::Guard guard(mutex);
    if (lists_are_recorded)
        define(lookup);
    else if (early_count < static_cast<int>(std::size(early_lookups)))
        early_lookups[early_count++] = lookup;
    else
        ++early_lost;
}

void note_lookup(int version) noexcept {
    int greatest = greatest_version.load(std::memory_order_relaxed);
    while (version > greatest &&
           !greatest_version.compare_exchange_weak(greatest, version, std::memory_order_relaxed)) {
    }
}

void note_runtime(const void* caller) noexcept {
    const wrappers::KeepErrno keep;
    Dl_info info;
    record::assert_no_lock("dladdr"); // locks the loader
    if (dladdr(caller, &info) == 0)
        return;
    const record::Guard guard(mutex);
    if (runtime_object == nullptr) {
        runtime_object = info.dli_fname;
        if (lists_are_recorded)
            define_runtime(runtime_object);
    }
}

/// Ends the trace. Does not call the driver, which answers CUDA_ERROR_DEINITIALIZED after the program's exit
/// handlers.
void leave() noexcept {
    control::end();
    // A child made by _Fork(3) or clone(2) has run no atfork handler, but the trace is its parent's, too.
    if (!record::keeps() || owner.load(std::memory_order_relaxed) != getpid())
        return;
    attach::find_bypasses([](const char* symbol, const char* object) {
        trace::UnknownLookup record;
        record.symbol = symbol;
        record.object = object;
        record::define(record);
    });
    observe::managed_watch().finish();
    close_window();
    record::close();
    // A loss was reported when it happened, and in a confined process no line of ours can be written.
    if (!record::lost() && !record::is_confined())
        say_where_trace_is();
}

} // namespace umadvisor::runtime

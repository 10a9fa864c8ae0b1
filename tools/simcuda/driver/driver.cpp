#include "tools/simcuda/driver/driver.hpp"
#include "tools/simcuda/driver/report.hpp"

#include <pthread.h>

#include <cstring>
#include <iterator>
#include <thread>

namespace simcuda {

namespace {
constexpr const char* names[] = {
#define API_UNDECLARED(symbol)
#define API(symbol, handling) #symbol,
#include "interposer/driver_api.def"
};

void enter_child() {
    // As with the real driver, CUDA does not work in a child of a process that has used it. The lock may be
    // held by a thread that does not exist here, so nobody may wait for it.
    driver().forked = true;
}

Driver* make_driver() {
    auto* made = new Driver;
#ifdef SIMCUDA_DEVICES
    made->config.devices = SIMCUDA_DEVICES;
#endif
#ifdef SIMCUDA_OLD
    made->config.driver_version = 11040;
#endif
#ifdef SIMCUDA_NEW
    made->config.driver_version = 13040;
#endif
#ifdef SIMCUDA_NO_CONCURRENT_ACCESS
    made->config.concurrent_managed_access = false;
#endif
    made->control.bytes = sizeof(Control);
    read_config(*made);
    pthread_atfork(nullptr, nullptr, enter_child);
    return made;
}

CUresult injected_failure(unsigned entry) {
    for (Failure& failure : driver().control.failures) {
        if (failure.entry[0] && std::strncmp(failure.entry, names[entry], sizeof failure.entry) == 0) {
            const std::uint64_t seen = __atomic_add_fetch(&failure.seen, 1, __ATOMIC_RELAXED);
            if (failure.nth == 0 || failure.nth == seen) {
                return static_cast<CUresult>(failure.result);
            }
        }
    }
    return CUDA_SUCCESS;
}
} // namespace

const char* entry_name(unsigned entry) {
    return entry < entry_count ? names[entry] : "";
}

Driver& driver() {
    static Driver* only = make_driver();
    return *only;
}

Thread& this_thread() {
    static thread_local Thread thread;
    return thread;
}

CUctx_st* current_context() {
    const Thread& thread = this_thread();
    return thread.depth ? thread.contexts[thread.depth - 1] : nullptr;
}

CUresult enter(Entry entry, Needs needs, Nanoseconds price) {
    Driver& state = driver();
    const auto index = static_cast<unsigned>(entry);
    state.calls[index].fetch_add(1, std::memory_order_relaxed);
    if (const CUresult failure = injected_failure(index); failure != CUDA_SUCCESS) {
        return failure;
    }
    state.clock.advance(price);
    if (needs == Needs::nothing) {
        return CUDA_SUCCESS;
    }
    if (state.finished) {
        return CUDA_ERROR_DEINITIALIZED;
    }
    if (state.forked || !state.initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (needs == Needs::context) {
        if (this_thread().in_host_function) {
            return CUDA_ERROR_NOT_PERMITTED;
        }
        const CUctx_st* context = current_context();
        return context ? context->sticky : CUDA_ERROR_INVALID_CONTEXT;
    }
    return CUDA_SUCCESS;
}

void run_host_function(const std::function<void()>& call) {
    std::thread([&call] {
        this_thread().in_host_function = true;
        call();
    }).join();
}

const Allocation* Driver::find(std::uint64_t address) const {
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) {
        return nullptr;
    }
    const Allocation& candidate = std::prev(next)->second;
    return address - candidate.address < candidate.bytes ? &candidate : nullptr;
}

MemoryClass Driver::classify(std::uint64_t address) const {
    const Allocation* found = find(address);
    return found ? found->memory : pageable;
}

} // namespace simcuda

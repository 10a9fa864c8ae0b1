#pragma once

// cuda.h declares every exported name, old signatures included, only with this definition.
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>

#include "residency/address_space.hpp"
#include "tools/simcuda/control.hpp"
#include "tools/simcuda/driver/arena.hpp"
#include "tools/simcuda/driver/clock.hpp"
#include "tools/simcuda/driver/entries.hpp"
#include "tools/simcuda/image.hpp"

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

// The handles CUDA declares and never defines.
struct CUctx_st {
    int device = 0;
    unsigned flags = 0;
    bool primary = false;
    unsigned long long id = 0;
    CUresult sticky = CUDA_SUCCESS; ///< an illegal access leaves the context unusable
    CUstream_st* legacy = nullptr;
    std::unordered_set<CUctx_st*> peers; ///< whose memory it may reach
    CUgreenCtx green = nullptr;          ///< that it is the context of
};

struct CUstream_st {
    CUctx_st* context = nullptr;
    unsigned flags = 0;
    int priority = 0;
    unsigned long long id = 0;
    bool legacy = false;
    simcuda::Nanoseconds end = 0; ///< when the last operation so far is done
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    unsigned long long capture_id = 0;
    const void* capture_thread = nullptr;
    std::vector<struct CUgraphNode_st*> capture_tail; ///< nodes that the next one comes after
};

struct CUevent_st {
    CUctx_st* context = nullptr;
    unsigned flags = 0;
    bool recorded = false;
    bool captured = false;
    unsigned long long capture_id = 0;
    std::vector<struct CUgraphNode_st*> capture_tail; ///< what had been captured when it was recorded
    simcuda::Nanoseconds time = 0;
};

struct CUfunc_st {
    struct CUkern_st* kernel = nullptr;
};

struct CUkern_st {
    CUfunc_st function;
    struct CUlib_st* library = nullptr;
    const simcuda::KernelEntry* entry = nullptr;
};

struct CUmod_st {
    struct CUlib_st* library = nullptr;
};

struct CUlib_st {
    CUmod_st module;
    simcuda::Image* image = nullptr;
    std::map<std::string, std::unique_ptr<CUkern_st>, std::less<>> kernels;
    std::map<std::string, CUdeviceptr, std::less<>> variables;
};

struct CUmemPoolHandle_st;

namespace simcuda {

namespace residency = umadvisor::residency;

/// What made an allocation, and so what may end it.
enum class Made : unsigned char { plain, mapped, opened, external };

/// What stands at an address.
struct Allocation {
    std::uint64_t address;
    std::uint64_t bytes;
    MemoryClass memory;
    int device;
    unsigned flags;
    bool pooled; ///< made by cuMemAllocAsync
    unsigned long long id;
    CUctx_st* context;
    Made made = Made::plain;
    CUmemPoolHandle_st* pool = nullptr; ///< that it came from
    int host_node = -1;                 ///< that host memory lies on; -1: any
};

/// One device: its engines work in parallel to each other, each on one operation at a time.
struct Device {
    CUctx_st primary;
    unsigned primary_uses = 0;
    std::uint64_t allocated = 0;
    Nanoseconds compute_free = 0;
    Nanoseconds to_device_free = 0;
    Nanoseconds to_host_free = 0;
};

/// How host and devices share memory.
enum class Sharing : unsigned char { discrete, hmm, coherent_numa, coherent_cdmm, one_pool };

struct Config {
    Sharing sharing = Sharing::discrete;
    int devices = 1;
    int host_nodes = 1;
    std::uint64_t capacity = 8ull << 30;
    bool contiguous = false; ///< device memory is one range of addresses, no longer than `capacity`
    int driver_version = 13000;
    bool concurrent_managed_access = true;
    bool peers = true;       ///< devices may reach each other's memory
    bool tools_queue = true; ///< the unified-memory module's tools device may be opened
    int tools_enables = std::numeric_limits<int>::max(); ///< events or counters, that it grants
    residency::Parameters parameters;

    int node_of(int device) const { return device % host_nodes; }
    bool is_coherent() const { return sharing >= Sharing::coherent_numa; }
    /// Kernels may be given the address of any memory of the process.
    bool reaches_pageable() const { return sharing != Sharing::discrete; }
    /// Nothing ever moves: there is one memory.
    bool is_one_pool() const { return sharing == Sharing::one_pool; }
};

/// All state of the simulated driver, one a process, never destroyed: programs call CUDA from their last
/// destructors. Everything below the mutex is guarded by it. The holder of the mutex touches managed memory
/// through Arena::view alone: a touch of the host's view would wait for the fault thread, which waits for the
/// mutex.
struct Driver {
    Config config;
    Clock clock;
    residency::Prices prices;
    std::atomic<bool> initialized{false};
    std::atomic<bool> finished{false};
    std::atomic<bool> forked{false};
    std::atomic<std::uint64_t> calls[entry_count]{};
    /// See DeviceInterface: the number of the kernel run, and the run that last touched each granule for
    /// reading and for writing.
    std::atomic<std::uint64_t> epoch{1};
    std::atomic<std::uint64_t>* touched = nullptr;

    std::mutex mutex;
    Arena arena;
    std::unique_ptr<AddressPool> device_addresses;
    std::unique_ptr<AddressPool> managed_addresses;
    std::unique_ptr<residency::AddressSpace> memory;
    std::vector<Device> devices;
    std::map<std::uint64_t, Allocation> allocations;
    std::unordered_set<CUcontext> contexts;
    std::unordered_set<CUstream> streams;
    std::unordered_set<CUevent> events;
    std::unordered_set<CUlibrary> libraries;
    std::unordered_set<const void*> functions;
    std::unordered_set<const void*> kernels;
    unsigned long long ids = 0;
    Control control{};
    std::string report;

    /// The allocation that holds the address, or nullptr.
    const Allocation* find(std::uint64_t address) const;
    MemoryClass classify(std::uint64_t address) const;
};

Driver& driver();

/// Of the calling thread. Trivial, so that it needs no destructor when a program unloads or exits in odd
/// orders.
struct Thread {
    static constexpr unsigned depth_limit = 16;
    CUctx_st* contexts[depth_limit];
    unsigned depth;
    CUstreamCaptureMode capture_mode;
    CUstream_st* own_stream; ///< the per-thread default stream
    CUctx_st* own_stream_context;
    bool in_host_function; ///< no call is permitted there that needs a context
};
Thread& this_thread();
/// Calls a host function of a stream in a thread of its own, as the driver does, and waits for its end.
void run_host_function(const std::function<void()>& call);
CUctx_st* current_context();
/// Whether a context of one of the devices may reach the memory of one of the other's. The caller holds the
/// mutex.
bool peer_access(int device, int other);
/// One more user keeps the device's primary context. The caller holds the mutex.
void use_primary(Device& device);

enum class Needs { nothing, initialization, context };

/// Start of every entry point: counts the call, lets a set failure answer, refuses in a forked child, after
/// exit, before cuInit, without a context or in a broken one; charges the call's price. CUDA_SUCCESS: go on.
CUresult enter(Entry entry, Needs needs = Needs::context, Nanoseconds price = 100);

#define SIMCUDA_ENTER(...)                                                                                     \
    if (const CUresult refused = simcuda::enter(__VA_ARGS__); refused != CUDA_SUCCESS) {                       \
        return refused;                                                                                        \
    }

/// Defines an entry point and its twin for per-thread default streams; the body sees `per_thread`.
#define SIMCUDA_STREAM_PAIR(name, suffix, parameters, ...)                                                     \
    extern "C" CUresult CUDAAPI name parameters {                                                              \
        [[maybe_unused]] constexpr bool per_thread = false;                                                    \
        SIMCUDA_ENTER(simcuda::Entry::name)                                                                    \
        __VA_ARGS__                                                                                            \
    }                                                                                                          \
    extern "C" CUresult CUDAAPI name##suffix parameters {                                                      \
        [[maybe_unused]] constexpr bool per_thread = true;                                                     \
        SIMCUDA_ENTER(simcuda::Entry::name##suffix)                                                            \
        __VA_ARGS__                                                                                            \
    }

using Guard = std::lock_guard<std::mutex>;

} // namespace simcuda

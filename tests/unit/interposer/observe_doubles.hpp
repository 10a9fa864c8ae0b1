/// What observers and actions meet in a process, replaced: a recorder that keeps what it is given, and a driver
/// whose state the test pokes.
#pragma once

#include "interposer/attach/real.hpp"
#include "interposer/observe/managed_batch.hpp"
#include "trace/records.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::observe {

/// Everything written since the last clear(), and every host range: those are defined once in a process. Texts
/// of definitions are kept apart from their records.
struct FakeRecorder {
    std::mutex mutex;
    std::vector<trace::Residency> residency;
    std::vector<trace::DeviceTime> device_times;
    std::vector<trace::Prefetch> prefetches;
    std::vector<trace::Advise> advices;
    std::vector<trace::Content> contents;
    std::vector<trace::Comparison> comparisons;
    std::vector<trace::HostReturn> host_returns;
    std::vector<std::pair<trace::Function, std::string>> functions;
    std::vector<std::pair<trace::HostRange, std::string>> host_ranges;
    std::vector<std::string> notes;
    std::uint64_t stack = 1; ///< of every call

    void clear();
};
FakeRecorder& recorder();

/// What a kernel is to the fake driver.
struct FakeKernel {
    std::string name;
    std::vector<std::pair<std::size_t, std::size_t>> parameters; ///< offset, size
};

struct FakeAttributes {
    CUmemorytype type;
    bool managed;
    std::uint64_t first, bytes;
};

/// The driver's state; poked and read by tests, under its mutex where threads meet.
struct FakeDriver {
    std::mutex mutex;
    CUcontext context;
    unsigned long long context_id;
    CUdevice device;
    std::size_t memory_bytes;
    int devices, concurrent_managed_access, integrated, pageable, coherent;
    int host_node;            ///< next to every device; -1: not known
    std::uint64_t node_asked; ///< its attribute
    CUstreamCaptureStatus capture_status;
    CUresult capture_answer;
    CUstreamCaptureMode thread_mode; ///< of the (one) calling thread
    bool relaxed_at_every_call;      ///< no event or prefetch call came in another capture mode
    bool finished;                   ///< cuEventQuery
    std::uint64_t managed_activity;  ///< of ManagedWatch; 0: not known
    bool managed_watched;            ///< by the driver's queue
    bool managed_at_rest;
    ManagedListener managed_listener;                ///< who hears of its events
    std::vector<trace::ManagedEvent> managed_events; ///< that it has and has not told yet
    CUresult event_answer;                           ///< of cuEventRecord
    std::uint64_t events, records, queries;
    std::vector<CUstream> record_streams;
    static inline const auto own_stream = reinterpret_cast<CUstream>(0x77); ///< that cuStreamCreate makes
    std::vector<CUstream> wait_streams;
    float milliseconds;
    std::map<std::uint64_t, FakeKernel> functions, kernels;
    std::uint64_t asked;                              ///< cuPointerGetAttribute
    std::map<std::uint64_t, FakeAttributes> pointers; ///< by end
    CUresult prefetch_answer, managed_answer, advise_answer;
    std::uint64_t prefetches, advices, managed_calls;
    std::vector<CUmem_advise> advice;
    CUresult host_answer;                     ///< of cuMemHostAlloc
    std::uint64_t host_allocated, host_freed; ///< calls
    std::uint64_t events_destroyed;
    std::uint64_t event_refused_at; ///< cuEventCreate number so many is; 0: none
    CUstream prefetch_stream;
    int prefetch_abi;
};
FakeDriver& driver();

/// A fresh driver of CUDA 13; every entry it has is in the real table.
void install_driver();
/// The driver lacks this one.
void remove_entry(attach::Entry entry);

} // namespace umadvisor::observe

/// What observers and actions meet in a process, replaced: a recorder that keeps what it is given, and a driver
/// whose state the test pokes.
#pragma once

#include "interposer/attach/real.hpp"
#include "interposer/observe/managed_batch.hpp"
#include "trace/records.hpp"

#include <boost/test/unit_test.hpp>
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

/// The driver's state as each test begins with it.
struct FreshDriver {
    CUcontext context = reinterpret_cast<CUcontext>(0x1000);
    unsigned long long context_id = 1;
    CUdevice device = 0;
    std::size_t memory_bytes = 1ull << 30;
    int devices = 1, concurrent_managed_access = 1, integrated = 0, pageable = 0, coherent = 0;
    int host_node = -1;           ///< next to every device; -1: not known
    std::uint64_t node_asked = 0; ///< its attribute
    CUstreamCaptureStatus capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult capture_answer = CUDA_SUCCESS;
    CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL; ///< of the (one) calling thread
    bool relaxed_at_every_call = true;               ///< no event or prefetch call came in another capture mode
    bool finished = true;                            ///< cuEventQuery
    std::uint64_t managed_activity = 0;              ///< of ManagedWatch; 0: not known
    std::vector<trace::ManagedEvent> managed_events; ///< that it has and has not told yet
    CUresult event_answer = CUDA_SUCCESS;            ///< of cuEventRecord
    std::uint64_t events = 0, records = 0, queries = 0;
    std::vector<CUstream> record_streams, wait_streams;
    float milliseconds = 0.005f;
    std::map<std::uint64_t, FakeKernel> functions, kernels;
    std::uint64_t asked = 0;                          ///< cuPointerGetAttribute
    std::map<std::uint64_t, FakeAttributes> pointers; ///< by end
    CUresult prefetch_answer = CUDA_SUCCESS, managed_answer = CUDA_SUCCESS, advise_answer = CUDA_SUCCESS;
    std::uint64_t prefetches = 0, advices = 0;
    std::vector<CUmem_advise> advice;
    CUresult host_answer = CUDA_SUCCESS;              ///< of cuMemHostAlloc
    std::uint64_t host_allocated = 0, host_freed = 0; ///< calls
    std::uint64_t events_destroyed = 0;
    std::uint64_t event_refused_at = 0; ///< cuEventCreate number so many is; 0: none
    CUstream prefetch_stream = nullptr;
    int prefetch_abi = 0;
};

/// Poked and read by tests, under its mutex where threads meet.
struct FakeDriver : FreshDriver {
    static inline const auto own_stream = reinterpret_cast<CUstream>(0x77); ///< that cuStreamCreate makes

    std::mutex mutex;
    bool managed_watched; ///< by the driver's queue
    bool managed_at_rest;
    ManagedListener managed_listener; ///< who hears of its events
    std::uint64_t managed_calls;
};
FakeDriver& driver();

/// The one note that there is says `part`.
inline void check_noted(const std::string& part) {
    BOOST_REQUIRE(recorder().notes.size() == 1u);
    BOOST_TEST(recorder().notes[0].find(part) != std::string::npos, recorder().notes[0]);
}

/// The simulated clock that observers and actions go by here: what they do depends on no host's speed. It goes
/// on by a nanosecond at each look, and as far as a test says.
void pass_time(std::uint64_t nanoseconds);

/// A fresh driver of CUDA 13; every entry it has is in the real table.
void install_driver();
/// The driver lacks this one.
void remove_entry(attach::Entry entry);

} // namespace umadvisor::observe

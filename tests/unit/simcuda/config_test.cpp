// SIMCUDA_CONFIG and SIMCUDA_REPORT, each case in a process of its own: both are read when CUDA is first used.
#include "tests/unit/simcuda/runtime_library.hpp"
#include "tests/unit/simcuda/tools_ring.hpp"

#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

using namespace simcuda;

namespace {

KERNEL fill(DevicePtr<int> values, int count) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
        values[i] = i;
}

KERNEL read_beyond(DevicePtr<int> values) {
    values[0] = values[1 << 28];
}

/// Runs `program` in a child with the configuration; the counters it leaves. `program` answers whether all is
/// well.
template <class Program>
nlohmann::json run(const char* config, Program program) {
    const std::string file =
        (std::filesystem::temp_directory_path() / ("simcuda-report-" + std::to_string(getpid()))).string();
    const pid_t child = fork();
    if (child == 0) {
        setenv("SIMCUDA_CONFIG", config, 1);
        setenv("SIMCUDA_REPORT", file.c_str(), 1);
        std::exit(program() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
    std::ifstream stream(file);
    nlohmann::json report = nlohmann::json::parse(stream, nullptr, false);
    std::filesystem::remove(file);
    BOOST_REQUIRE(!report.is_discarded());
    return report;
}

} // namespace

BOOST_AUTO_TEST_SUITE(configuration)

BOOST_AUTO_TEST_CASE(oversubscription_evicts_and_computes_right) {
    const auto report = run("capacity=8MiB", [] {
        constexpr int count = (16 << 20) / sizeof(int);
        int* values = nullptr;
        cudaMallocManaged(&values, count * sizeof *values);
        LAUNCH(fill, 1, 256, nullptr, values, count);
        cudaDeviceSynchronize();
        long wrong = 0;
        for (int i = 0; i < count; ++i)
            wrong += values[i] != i;
        return wrong == 0;
    });
    BOOST_TEST(report["evicted_blocks"] == 4);
    BOOST_TEST(report["bytes_to_host"]["eviction"] == 8 << 20);
    BOOST_TEST(report["bytes_to_host"]["coherence"] == 8 << 20);
}

BOOST_AUTO_TEST_CASE(evicted_pages_are_migrations_with_that_cause) {
    const auto report = run("capacity=8MiB", [] {
        constexpr int count = (16 << 20) / sizeof(int);
        int* values = nullptr;
        cudaMallocManaged(&values, count * sizeof *values);
        Ring ring(0x7ffe);
        Counting counting;
        LAUNCH(fill, 1, 256, nullptr, values, count);
        cudaDeviceSynchronize();
        std::uint64_t bytes = 0;
        for (const auto& migration : ring.take<tools::Migration>(tools::EventType::migration)) {
            const bool right = migration.cause == 4 && migration.from == 1 && migration.to == 0;
            bytes += right ? migration.bytes : 0;
        }
        return bytes == 8 << 20 && counting.values[tools::bytes_to_host] == bytes;
    });
    BOOST_TEST(report["bytes_to_host"]["eviction"] == 8 << 20);
}

BOOST_AUTO_TEST_CASE(the_tools_device_can_refuse) {
    run("tools_queue=0", [] {
        cudaFree(nullptr);
        alignas(4096) static std::uint64_t memory[512];
        tools::InitTracker wanted{.control = reinterpret_cast<std::uint64_t>(memory)};
        return tools_device(-1, tools::InitTracker::command, &wanted) == -1 && errno == EACCES;
    });
}

BOOST_AUTO_TEST_CASE(the_tools_device_can_refuse_later) {
    run("tools_enables=1", [] {
        cudaFree(nullptr);
        Counting counting;
        return counting.turn(tools::Switch::enable_counters, ~0ull) != 0u;
    });
}

BOOST_AUTO_TEST_CASE(the_modules_parameters_are_those_of_the_model) {
    run("thrashing=0,driver_prefetch=0", [] {
        cudaFree(nullptr);
        const auto parameter = driver_symbol<decltype(simcuda_uvm_parameter)>("simcuda_uvm_parameter");
        unsigned thrashing = 7;
        unsigned prefetch = 7;
        parameter("uvm_perf_thrashing_enable", &thrashing);
        parameter("uvm_perf_prefetch_enable", &prefetch);
        return thrashing == 0 && prefetch == 0;
    });
}

BOOST_AUTO_TEST_CASE(a_forked_child_has_no_tools_device) {
    run("", [] {
        cudaFree(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            tools::Flush flush{};
            _exit(tools_device(1, tools::Flush::command, &flush) == -1 && errno == EBADF ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status) == 0;
    });
}

BOOST_AUTO_TEST_CASE(capacity_limits_plain_allocations) {
    run("capacity=8MiB", [] {
        char* small = nullptr;
        char* big = nullptr;
        const bool right = cudaMalloc(&small, 6 << 20) == cudaSuccess &&
                           cudaMalloc(&big, 3 << 20) == cudaErrorMemoryAllocation &&
                           cudaFree(small) == cudaSuccess;
        return right;
    });
}

BOOST_AUTO_TEST_CASE(contiguous_memory_fragments) {
    // Every other of four pieces is free: as much as is asked for, but not in one.
    const auto ask_between_pieces = [] {
        char* pieces[4];
        for (char*& piece : pieces)
            cudaMalloc(&piece, 2 << 20);
        cudaFree(pieces[0]);
        cudaFree(pieces[2]);
        char* whole = nullptr;
        return cudaMalloc(&whole, 4 << 20) == cudaErrorMemoryAllocation;
    };
    run("capacity=8MiB,contiguous=1", [&] { return ask_between_pieces(); });
    run("capacity=8MiB", [&] { return !ask_between_pieces(); });
}

BOOST_AUTO_TEST_CASE(each_device_is_near_to_one_node_and_far_from_the_other) {
    run("host_nodes=2", [] {
        constexpr std::size_t bytes = 16 << 20;
        char* host = nullptr;
        cudaMallocHost(&host, bytes);
        double nanoseconds[2];
        bool right = true;
        for (const int device : {0, 1}) {
            int node = -1;
            cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, device);
            right = right && node == device;
            cudaSetDevice(device);
            char* memory = nullptr;
            cudaMalloc(&memory, bytes);
            const std::uint64_t start = now();
            cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice);
            nanoseconds[device] = static_cast<double>(now() - start);
        }
        // Which of them is near is the machine's to say; the call itself takes 5 us.
        const auto [near, far] = std::minmax(nanoseconds[0], nanoseconds[1]);
        const double share = (near - 5000) / (far - 5000);
        return right && share > 0.69 && share < 0.71;
    });
}

BOOST_AUTO_TEST_CASE(devices_hand_memory_over) {
    const auto report = run("devices=2", [] {
        int reaches = 0;
        bool right = cudaDeviceCanAccessPeer(&reaches, 0, 1) == cudaSuccess && reaches == 1 &&
                     cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess &&
                     cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled;
        int *from = nullptr, *to = nullptr;
        cudaMalloc(&from, sizeof *from);
        cudaSetDevice(1);
        cudaMalloc(&to, sizeof *to);
        int value = 42;
        cudaMemcpy(from, &value, sizeof value, cudaMemcpyHostToDevice);
        right = right && cudaMemcpyPeer(to, 1, from, 0, sizeof value) == cudaSuccess;
        value = 0;
        cudaMemcpy(&value, to, sizeof value, cudaMemcpyDeviceToHost);
        return right && value == 42 && cudaMemcpyPeer(to, 2, from, 0, 4) == cudaErrorInvalidDevice;
    });
    BOOST_TEST(report["calls"]["cuMemcpyPeer"] == 1);
}

namespace {

/// Of two devices, as they are before anything has been enabled.
struct Peers {
    Peers() {
        for (const int device : {0, 1}) {
            cudaSetDevice(device);
            for (char*& each : memory[device])
                cudaMalloc(&each, bytes);
        }
    }
    /// What the copy of `bytes` takes beyond its call, in microseconds.
    static double copied_in(char* to, int to_device, const char* from, int from_device) {
        const std::uint64_t start = now();
        cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
        cudaDeviceSynchronize();
        return (static_cast<double>(now() - start) - 7000) / 1000;
    }
    double over() const { return copied_in(memory[1][0], 1, memory[0][0], 0); }
    double back() const { return copied_in(memory[0][0], 0, memory[1][0], 1); }
    double beside() const { return copied_in(memory[1][1], 1, memory[1][0], 1); }

    static constexpr std::size_t bytes = 64 << 20;
    char* memory[2][2] = {};
};

bool about(double found, double wanted) {
    return found > 0.95 * wanted && found < 1.05 * wanted;
}

// 64 MiB between two H100: 36.4 ms for 20 of them, and 3.8.
constexpr double through_host_us = 1820, linked_us = 190;

} // namespace

BOOST_AUTO_TEST_CASE(copies_to_a_peer_pass_through_the_host_unless_access_is_enabled) {
    run("devices=2", [] {
        const Peers peers;
        bool right = about(peers.over(), through_host_us) && about(peers.back(), through_host_us);
        cudaDeviceEnablePeerAccess(0, 0); // device 1 is current
        right = right && about(peers.over(), linked_us) && about(peers.back(), linked_us);
        right = right && cudaDeviceDisablePeerAccess(0) == cudaSuccess && about(peers.over(), through_host_us);
        return right && cudaDeviceDisablePeerAccess(0) == cudaErrorPeerAccessNotEnabled;
    });
}

BOOST_AUTO_TEST_CASE(copies_within_a_device_need_no_access) {
    run("devices=2", [] { return Peers().beside() < linked_us; });
}

BOOST_AUTO_TEST_CASE(devices_may_be_out_of_each_others_reach) {
    run("devices=2,peers=0", [] {
        const Peers peers;
        int reaches = 1;
        const bool right = cudaDeviceCanAccessPeer(&reaches, 0, 1) == cudaSuccess && reaches == 0 &&
                           cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported;
        return right && about(peers.over(), through_host_us);
    });
}

BOOST_AUTO_TEST_CASE(managed_memory_moves_between_devices) {
    const auto report = run("devices=2", [] {
        constexpr int count = (4 << 20) / sizeof(int);
        int* values = nullptr;
        cudaMallocManaged(&values, count * sizeof *values);
        Ring ring(0x7ffe);
        std::uint64_t between = 0, others = 0;
        for (int turn = 0; turn < 4; ++turn) {
            cudaSetDevice(turn % 2);
            LAUNCH(fill, 1, 256, nullptr, values, count);
            cudaDeviceSynchronize();
        }
        for (const auto& migration : ring.take<tools::Migration>(tools::EventType::migration))
            (migration.from != 0 && migration.to == 3 - migration.from ? between : others) += migration.bytes;
        return between == 3 * 4 << 20 && others == 0;
    });
    BOOST_TEST(report["bytes_between_devices"] == 3 * 4 << 20);
}

BOOST_AUTO_TEST_CASE(managed_memory_of_one_device_stays_there) {
    const auto report = run("devices=2", [] {
        int* values[2] = {};
        for (int turn = 0; turn < 4; ++turn) {
            cudaSetDevice(turn % 2);
            if (turn < 2)
                cudaMallocManaged(&values[turn], 4096);
            LAUNCH(fill, 1, 256, nullptr, values[turn % 2], 1024);
            cudaDeviceSynchronize();
        }
        return true;
    });
    BOOST_TEST(report["bytes_between_devices"] == 0);
}

BOOST_AUTO_TEST_CASE(the_report_counts_copies_by_class) {
    const auto report = run("", [] {
        std::vector<char> heap(1000);
        char* device = nullptr;
        char* host = nullptr;
        cudaMalloc(&device, 1000);
        cudaMallocHost(&host, 1000);
        cudaMemcpy(device, heap.data(), 1000, cudaMemcpyHostToDevice);
        cudaMemcpy(device, heap.data(), 500, cudaMemcpyHostToDevice);
        cudaMemcpy(host, device, 100, cudaMemcpyDeviceToHost);
        return true;
    });
    const auto expected = nlohmann::json::parse(R"([
        {"direction": "HtoD", "source": "pageable", "target": "device", "calls": 2, "bytes": 1500},
        {"direction": "DtoH", "source": "device", "target": "pinned", "calls": 1, "bytes": 100}])");
    BOOST_TEST(report["copies"] == expected);
    BOOST_TEST(report["calls"]["cuMemcpyHtoD_v2"] == 2);
    BOOST_TEST(report["allocated_device_bytes"] == 1000);
}

/// Its memory mode decides what a kernel may be given, and what moves.
BOOST_AUTO_TEST_CASE(kernels_reach_pageable_memory_where_the_device_says_so) {
    for (const char* mode : {"memory=hmm", "memory=numa", "memory=cdmm", "memory=pool"}) {
        const auto report = run(mode, [] {
            std::vector<int> values(100);
            LAUNCH(fill, 1, 1, nullptr, values.data(), 100);
            const bool filled = cudaDeviceSynchronize() == cudaSuccess && values[99] == 99;
            int reaches = 0;
            cudaDeviceGetAttribute(&reaches, cudaDevAttrPageableMemoryAccess, 0);
            const bool prefetched = cudaMemPrefetchAsync(values.data(), 400, {cudaMemLocationTypeDevice, 0}, 0,
                                                         nullptr) == cudaSuccess;
            return filled && reaches == 1 && prefetched;
        });
        BOOST_TEST(report["illegal_addresses"] == 0, mode);
    }
    const auto refused = run("", [] {
        std::vector<int> values(100);
        LAUNCH(fill, 1, 1, nullptr, values.data(), 100);
        return cudaDeviceSynchronize() == cudaErrorIllegalAddress;
    });
    BOOST_TEST(refused["illegal_addresses"] > 0);
    const auto unmapped = run("memory=numa", [] {
        LAUNCH(fill, 1, 1, nullptr, reinterpret_cast<int*>(4096), 100);
        return cudaDeviceSynchronize() == cudaErrorIllegalAddress;
    });
    BOOST_TEST(unmapped["illegal_addresses"] > 0);
}

BOOST_AUTO_TEST_CASE(nothing_moves_where_host_and_device_share_one_memory) {
    const auto shared = [] {
        int* values = nullptr;
        cudaMallocManaged(&values, 1 << 20);
        for (int round = 0; round < 3; ++round) {
            values[0] = round;
            LAUNCH(fill, 1, 1, nullptr, values, 1000);
            cudaDeviceSynchronize();
        }
        return values[999] == 999;
    };
    BOOST_TEST(run("memory=pool", shared)["bytes_to_device"]["coherence"] == 0);
    BOOST_TEST(run("", shared)["bytes_to_device"]["coherence"] > 0);
}

BOOST_AUTO_TEST_CASE(failures_can_be_set) {
    run("fail=cuMemAllocManaged:2:2,fail=cuLaunchKernel:0:719", [] {
        int* values = nullptr;
        const bool first = cudaMallocManaged(&values, 4096) == cudaSuccess;
        const bool second = cudaMallocManaged(&values, 4096) == cudaErrorMemoryAllocation;
        cudaGetLastError();
        LAUNCH(fill, 1, 1, nullptr, values, 1);
        return first && second && cudaGetLastError() == cudaErrorLaunchFailure;
    });
}

BOOST_AUTO_TEST_CASE(an_illegal_address_stays_with_the_context) {
    const auto report = run("", [] {
        int* values = nullptr;
        cudaMalloc(&values, 4096);
        LAUNCH(read_beyond, 1, 1, nullptr, values);
        const bool right = cudaDeviceSynchronize() == cudaErrorIllegalAddress &&
                           cudaMalloc(&values, 4096) == cudaErrorIllegalAddress;
        return right;
    });
    BOOST_TEST(report["illegal_addresses"] == 1);
}

namespace {
/// Destroyed after the driver's exit handler, which was registered later.
struct LateFree {
    ~LateFree() {
        if (memory && cudaFree(memory) != cudaErrorCudartUnloading)
            _exit(3);
    }
    int* memory = nullptr;
} late;
} // namespace

BOOST_AUTO_TEST_CASE(cuda_is_over_for_the_last_destructors) {
    run("", [] { return cudaMalloc(&late.memory, 4096) == cudaSuccess; });
}

BOOST_AUTO_TEST_SUITE_END()

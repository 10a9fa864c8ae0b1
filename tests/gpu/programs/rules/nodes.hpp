#pragma once
// What takes several devices or NUMA nodes.
#include "trial.hpp"

#include <sched.h>

#include <set>

namespace rules {

inline int count_devices() {
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    return devices;
}

/// -1: not known.
inline int node_of_device(int device) {
    int node = -1;
    return cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, device) == cudaSuccess ? node : -1;
}

/// Binds the thread to one of the CPUs that it may run on after the other, until `stop(node of the CPU)`.
/// False, and the thread as free as before: it never did.
template <class Stop>
bool try_cpus(const Stop& stop) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        unsigned bound = 0, node = 0;
        if (CPU_ISSET(cpu, &allowed) && sched_setaffinity(0, sizeof only, &only) == 0 &&
            getcpu(&bound, &node) == 0 && stop(static_cast<int>(node)))
            return true;
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
    return false;
}

/// How many nodes the program may run on; 1 where no device says which is its own.
inline std::size_t count_nodes() {
    std::set<int> nodes;
    try_cpus([&](int node) {
        nodes.insert(node);
        return false;
    });
    for (int device = 0; device < count_devices(); ++device)
        if (node_of_device(device) >= 0)
            return nodes.size();
    return 1;
}

/// A result of device 0 goes to device 1; `pass_on` moves it.
template <class PassOn>
void pass_to_peer(Trial& trial, const PassOn& pass_on) {
    const PinnedWords sums(trial.bytes);
    const DeviceWords made(trial.bytes);
    CHECK(cudaSetDevice(1));
    {
        const DeviceWords taken(trial.bytes), total(trial.bytes);
        CHECK(cudaMemset(total.words, 0, trial.bytes));
        for (unsigned round = 0; round < trial.rounds; ++round) {
            CHECK(cudaSetDevice(0));
            LAUNCH(fill, grid, block, nullptr, made.words, made.count, round + 1);
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaSetDevice(1));
            trial.timed([&] { pass_on(taken.words, made.words); });
            LAUNCH(accumulate, grid, block, nullptr, total.words, taken.words, total.count);
        }
        CHECK(cudaMemcpy(sums.words, total.words, trial.bytes, cudaMemcpyDeviceToHost));
    }
    CHECK(cudaSetDevice(0));
    for (const std::size_t i : {std::size_t{0}, sums.count - 1})
        trial.expect(sums.words[i] == trial.rounds * (trial.rounds + 1) / 2);
}

/// Device 1 may reach device 0 from then on, if it can.
inline void enable_peer_access() {
    int reaches = 0;
    CHECK(cudaDeviceCanAccessPeer(&reaches, 1, 0));
    CHECK(cudaSetDevice(1));
    if (reaches != 0 && cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError(); // by the repetition before
    CHECK(cudaSetDevice(0));
}

} // namespace rules

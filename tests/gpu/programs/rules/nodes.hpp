#pragma once
// UMA-111 between devices, UMA-113 and UMA-120: what takes several devices or NUMA nodes.
#include "transfers.hpp"

#include <sched.h>

#include <memory>
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

/// Takes a CPU for this thread, and a device on the same node or on another.
inline void place_thread(bool far) {
    const bool placed = try_cpus([&](int node) {
        for (int device = 0; device < count_devices(); ++device)
            if (const int other = node_of_device(device); other >= 0 && (other != node) == far) {
                CHECK(cudaSetDevice(device));
                return true;
            }
        return false;
    });
    if (!placed)
        example::refuse("takes a CPU and a device on different NUMA nodes, or on the same");
}

inline void upload_from_far(Trial& trial) {
    place_thread(true);
    upload_pinned_async(trial);
}
inline void upload_from_near(Trial& trial) {
    place_thread(false);
    upload_pinned_async(trial);
}
/// Its pages lie where they were written for the first time: on the thread's node.
inline void upload_registered_from_far(Trial& trial) {
    place_thread(true);
    const std::size_t count = trial.bytes / sizeof(unsigned);
    const std::unique_ptr<unsigned[]> host(new unsigned[count]());
    CHECK(cudaHostRegister(host.get(), trial.bytes, cudaHostRegisterDefault));
    upload_rounds(trial, host.get(), false);
    CHECK(cudaHostUnregister(host.get()));
}
/// The driver stages it through memory of its own: where that lies is not the program's.
inline void upload_pageable_from_far(Trial& trial) {
    place_thread(true);
    upload_pageable(trial);
}
/// In pieces whose calls weigh as much as their way.
inline void upload_pieces_from_far(Trial& trial) {
    place_thread(true);
    upload_pieces(trial, 512 * KiB);
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

inline void pass_to_peer_through_host(Trial& trial) {
    const std::unique_ptr<char[]> host(new char[trial.bytes]);
    pass_to_peer(trial, [&](unsigned* to, const unsigned* from) {
        CHECK(cudaMemcpy(host.get(), from, trial.bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(to, host.get(), trial.bytes, cudaMemcpyHostToDevice));
    });
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
/// Where the devices cannot reach each other the driver finds a way.
inline void pass_to_peer_directly(Trial& trial) {
    enable_peer_access();
    pass_to_peer(
        trial, [&](unsigned* to, const unsigned* from) { CHECK(cudaMemcpyPeer(to, 1, from, 0, trial.bytes)); });
}
inline void pass_to_peer_without_access(Trial& trial) {
    pass_to_peer(trial, [&](unsigned* to, const unsigned* from) {
        CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, trial.bytes, nullptr));
        CHECK(cudaStreamSynchronize(nullptr));
    });
}
inline void pass_to_peer_with_access(Trial& trial) {
    enable_peer_access();
    pass_to_peer_without_access(trial);
}
/// The host takes every other word and sends those on twice.
inline void thin_for_peer(Trial& trial) {
    const PinnedWords all(trial.bytes), thin(trial.bytes / 2);
    pass_to_peer(trial, [&](unsigned* to, const unsigned* from) {
        CHECK(cudaMemcpy(all.words, from, trial.bytes, cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < thin.count; ++i)
            thin.words[i] = all.words[2 * i];
        CHECK(cudaMemcpy(to, thin.words, trial.bytes / 2, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(to + thin.count, thin.words, trial.bytes / 2, cudaMemcpyHostToDevice));
    });
}

} // namespace rules

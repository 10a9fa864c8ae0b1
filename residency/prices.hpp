#pragma once

#include "residency/geometry.hpp"

namespace umadvisor::residency {

/// What an operation costs on the modelled machine: nanoseconds and bytes per second, measured on one H200 over
/// PCIe 5 (driver 580, CUDA 13.0). Absolute figures move from machine to machine, the ratios are what counts.
struct Prices {
    Nanoseconds launch_call = 2'400;
    Nanoseconds async_copy_call = 1'300;
    Nanoseconds small_copy = 5'000;
    Nanoseconds query_call = 300;
    Nanoseconds memory_info_call = 4'000;
    Nanoseconds stream_create_call = 18'000;
    Nanoseconds stream_destroy_call = 13'000;
    Nanoseconds kernel_minimum = 2'000;

    double pageable_to_device = 10.3e9;
    double pinned_to_device = 55.5e9;
    double device_to_pageable = 19.4e9;
    double device_to_pinned = 55.4e9;
    double device_to_device = 1.17e12;
    /// From a device to another, NVLink between two H100: with peer access 20 copies of 64 MiB took 3.8 ms;
    /// without, the driver passes them through the host, 36.4 ms.
    double peer = 353e9;
    double peer_through_host = 36.9e9;
    double device_memory = 1.17e12;
    double device_operations = 33e12;
    double host_to_host = 10e9;
    /// Host memory that no cache holds, read by the host: not measured, some hundred MB/s by the vendors'
    /// manuals.
    double write_combined_read = 0.2e9;
    /// What a row of a copy takes at the least, however narrow: 1.3 to 2.6 ns.
    double copied_row_ns = 1.4;

    /// A pool maps memory anew (110 us for 128 MiB), or frees it (as much: 250 us for 256 MiB).
    double pool_map = 1.2e12;
    /// Pinning is per byte: 81 ms to allocate, 7.9 ms to register and 3.3 ms to unregister 256 MiB.
    double host_allocate = 3.3e9;
    double host_register = 34e9;
    double host_unregister = 81e9;

    /// One fault group in one 2 MiB block, without the bytes it moves. With the three or four groups a block
    /// that threads side by side raise this gives the 23 to 40 ms measured for a first touch of 256 MiB.
    Nanoseconds device_fault_group = 50'000;
    Nanoseconds host_fault = 30'000;
    Nanoseconds first_touch_fault = 10'000;
    double migrate_to_device = 51e9;
    double migrate_to_host = 24e9;
    double remote_access = 40e9;
    /// Price of a prefetch call: 2.7 us, and 0.9 us for each block even if nothing moves.
    Nanoseconds prefetch_call = 1'800;
    Nanoseconds prefetch_block = 900;
    /// What a prefetch takes before its bytes move: 20 us to move 4 KiB, 30 for 64 KiB, 80 for 1 MiB.
    Nanoseconds prefetch_move = 50'000;
};

/// What the policies and the shim go by besides, measured on the same machine. The model charges none of it:
/// these are costs of umadvisor itself, and figures that err on the side that costs a program less.
struct DecisionPrices {
    /// Faults to the device and back: 256 MiB took 23 to 40 ms, and 29 ms back, which is twice as fast or more.
    double faults_both_ways = 2e9;
    /// Faults move no more, between whatever devices.
    double faults_at_most = 32e9;
    /// A prefetch to the host after a wait, without its call: a MiB took 60 us. Behind a kernel it took 110.
    double return_after_wait = 16e9;

    /// A look at the page table of a 2 MiB block that the host does not have: 0.7 us, rounded up.
    Nanoseconds look_block = 750;
    /// Host memory is read through the kernel and hashed.
    double host_hash = 4e9;
    /// Price of hashing up to 4 KiB, or one part of a larger range.
    Nanoseconds host_hash_part = 20'000;
    /// Events around one operation: 1.6 us on the host, 3.3 us on the stream.
    Nanoseconds event_pair = 5'000;
    /// From waking a thread until it runs.
    Nanoseconds thread_wake = 10'000;
};
inline constexpr DecisionPrices decision_prices{};

/// Time to move so many bytes, in nanoseconds.
constexpr Nanoseconds transfer_time(std::uint64_t bytes, double bytes_per_second) {
    return static_cast<Nanoseconds>(static_cast<double>(bytes) * 1e9 / bytes_per_second);
}

} // namespace umadvisor::residency

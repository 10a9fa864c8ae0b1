/// What moving memory costs on one machine, and the file that `umadvisor calibrate` keeps it in.
#pragma once

#include "residency/prices.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::machine {

/// Bytes per second, nanoseconds and ratios where the name ends so. Whatever was not measured is that of an
/// H200 over PCIe 5 (driver 580, CUDA 13.0).
struct Rates {
    static constexpr residency::Prices usual{};

    double pinned_to_device = usual.pinned_to_device, device_to_pinned = usual.device_to_pinned;
    double pageable_to_device = usual.pageable_to_device, device_to_pageable = usual.device_to_pageable;
    double device_to_device = usual.device_to_device;
    /// From device to device with peer access, and as the driver does it without: through the host.
    /// 0: not measured, see to_peer() and to_peer_through_host().
    double peer = 0, peer_through_host = 0;
    double both_ways_ratio = 1.16;              ///< how much longer copies take while as many go the other way
    double device_memory = usual.device_memory; ///< gone through by a kernel
    double memory_set = 2.8e12;                 ///< device memory written by the driver's memory sets
    double host_to_host = usual.host_to_host;   ///< by one thread
    double write_combined_read = usual.write_combined_read; ///< likewise; not calibrated
    /// Managed memory; the host had it before. 256 MiB came to the device by faults in 23 to 40 ms, back in 29.
    double fault_to_device = 256.0 * 1024 * 1024 / 23e-3, fault_to_host = 256.0 * 1024 * 1024 / 29e-3;
    /// The same where the host writes the memory: each page faults once more at its first write, also after a
    /// prefetch. For 64 MiB, beyond the 4.3 ms for resident memory that was written before: 11.3 ms by faults,
    /// 6.8 ms after a prefetch, without the prefetch itself.
    double fault_to_host_written = 64.0 * 1024 * 1024 / 11.3e-3, host_first_write = 64.0 * 1024 * 1024 / 6.8e-3;
    double prefetch_to_device = usual.migrate_to_device, prefetch_to_host = usual.migrate_to_host;
    /// New heap memory: the host touches each page once and frees the memory. cudaMallocHost makes and locks
    /// the same pages in 0.34 ms/MiB; registering and unregistering existing pages took 0.1.
    double host_first_touch = 4.4e9;
    /// Unlocking page-locked memory, beyond the free of ordinary memory: 0.09 ms/MiB less 0.02.
    double host_unlock = 15e9;
    double remote_access = usual.remote_access; ///< a kernel reads what is on the host
    /// Page-locking existing memory and unlocking it: cudaHostRegister and cudaHostUnregister took 6.1 ms for
    /// 64 MiB that was touched before, and 0.15 ms for 1 MiB.
    double page_lock = 64.0 * 1024 * 1024 / 6.1e-3, page_lock_ns = 60e3;
    double small_copy_ns = static_cast<double>(usual.small_copy);
    double launch_call_ns = static_cast<double>(usual.launch_call);
    /// A fault that moves next to nothing, on either side. A flag that migrated to the device and back took 133
    /// to 194 us a round.
    double host_fault_ns = static_cast<double>(usual.host_fault), device_fault_ns = 120e3;
    /// A prefetch of memory that is there already, and each 2 MiB block that it looks at.
    double prefetch_call_ns = static_cast<double>(usual.prefetch_call);
    double prefetch_block_ns = static_cast<double>(usual.prefetch_block);
    /// What a prefetch that moves memory takes besides.
    double prefetch_move_ns = static_cast<double>(usual.prefetch_move);

    /// What copies to a peer reach with peer access. Where it was not measured: what NVLink had between two
    /// H100, if the devices have a link of their own (`linked`), else the rate of the host's link.
    double to_peer(bool linked) const { return peer > 0 ? peer : linked ? usual.peer : pinned_to_device; }

    double to_peer_through_host() const {
        return peer_through_host > 0 ? peer_through_host : usual.peer_through_host;
    }

    std::string device; ///< that was measured; empty: none
    /// "an H200", "the calibrated NVIDIA H200"
    std::string whose() const { return device.empty() ? "an H200" : "the calibrated " + device; }

    /// Calls `visit(name, value)` for each rate. Names end in their unit.
    template <class Self, class Visit>
    static void each(Self& self, const Visit& visit) {
        visit("pinned_to_device_bytes_per_s", self.pinned_to_device);
        visit("device_to_pinned_bytes_per_s", self.device_to_pinned);
        visit("pageable_to_device_bytes_per_s", self.pageable_to_device);
        visit("device_to_pageable_bytes_per_s", self.device_to_pageable);
        visit("device_to_device_bytes_per_s", self.device_to_device);
        visit("peer_bytes_per_s", self.peer);
        visit("peer_through_host_bytes_per_s", self.peer_through_host);
        visit("both_ways_ratio", self.both_ways_ratio);
        visit("device_memory_bytes_per_s", self.device_memory);
        visit("memory_set_bytes_per_s", self.memory_set);
        visit("host_to_host_bytes_per_s", self.host_to_host);
        visit("fault_to_device_bytes_per_s", self.fault_to_device);
        visit("fault_to_host_bytes_per_s", self.fault_to_host);
        visit("fault_to_host_written_bytes_per_s", self.fault_to_host_written);
        visit("host_first_write_bytes_per_s", self.host_first_write);
        visit("prefetch_to_device_bytes_per_s", self.prefetch_to_device);
        visit("prefetch_to_host_bytes_per_s", self.prefetch_to_host);
        visit("host_first_touch_bytes_per_s", self.host_first_touch);
        visit("host_unlock_bytes_per_s", self.host_unlock);
        visit("remote_access_bytes_per_s", self.remote_access);
        visit("page_lock_bytes_per_s", self.page_lock);
        visit("page_lock_ns", self.page_lock_ns);
        visit("small_copy_ns", self.small_copy_ns);
        visit("launch_call_ns", self.launch_call_ns);
        visit("host_fault_ns", self.host_fault_ns);
        visit("device_fault_ns", self.device_fault_ns);
        visit("prefetch_call_ns", self.prefetch_call_ns);
        visit("prefetch_block_ns", self.prefetch_block_ns);
        visit("prefetch_move_ns", self.prefetch_move_ns);
    }
};

/// The rates of each device in the file, at least one. Throws reader::Error when it cannot be read or has none.
std::vector<Rates> read_rates(const std::string& path);
/// The rates of `device`, else the first; `all` is not empty.
const Rates& rates_of(const std::vector<Rates>& all, const std::string& device);

/// The rates in the text of one object of such a file; nothing where it is none.
std::optional<Rates> rates_in(std::string_view text);

/// The text of such a file. Leaves out rates of zero: they were not measured.
std::string rates_text(const std::vector<Rates>& all);

} // namespace umadvisor::machine

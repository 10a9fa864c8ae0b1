#pragma once

#include <cstdint>

namespace simcuda {

/// Real page faults of the host on managed memory, by userfaultfd(2): a page without a host mapping stops the
/// thread that touches it (in the kernel too, so write(2) from such a page works) until map() is called for it.
/// The memory's own pages stay where they are: only the host's page-table entries come and go, and
/// /proc/self/pagemap shows it.
class HostFaults {
public:
    /// Called on the fault thread for each touch; `thread` is the one that waits.
    using Service = void (*)(std::uint64_t address, bool write, std::uint32_t thread);

    /// Starts the fault thread, which blocks all signals. False if the kernel refuses userfaultfd.
    bool start(Service service);
    bool running() const { return descriptor_ >= 0; }

    bool watch(std::uint64_t address, std::uint64_t bytes) const;
    /// Gives the host its mapping; `view` is where the same pages can be reached without a fault.
    void map(std::uint64_t address, std::uint64_t bytes, const char* view) const;
    /// Makes the next write of the host fault, or lets writes go on. Without effect on kernels before
    /// Linux 5.19.
    void protect(std::uint64_t address, std::uint64_t bytes, bool on) const;
    /// Takes the host's mapping away.
    void unmap(std::uint64_t address, std::uint64_t bytes) const;

private:
    static void* run(void* self);

    int descriptor_ = -1;
    bool can_protect_ = false;
    Service service_ = nullptr;
};

/// The instruction that a thread of this process waits at, stopped by a fault; inside a system call, where that
/// call returns to. 0 if the kernel does not tell.
std::uint64_t program_counter(std::uint32_t thread);

} // namespace simcuda

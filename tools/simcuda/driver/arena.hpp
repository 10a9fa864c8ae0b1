#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace simcuda {

/// Free addresses of one area, first fit. Not thread-safe.
class AddressPool {
public:
    AddressPool(std::uint64_t begin, std::uint64_t end) { free_.emplace(begin, end); }
    /// 0 if the area has no such hole.
    std::uint64_t take(std::uint64_t bytes, std::uint64_t alignment);
    void give(std::uint64_t address, std::uint64_t bytes);

private:
    std::map<std::uint64_t, std::uint64_t> free_; ///< begin -> end
};

/// The address space that device memory and managed memory live in, backed by one sparse memfd that is mapped
/// twice: at the addresses the program sees (nothing for device memory, so that a wrong host access crashes as
/// it does on a GPU; opened page range by page range for managed memory) and, at a fixed distance, for the
/// driver and its kernels.
class Arena {
public:
    static constexpr std::uint64_t device_bytes = 64ull << 30;
    static constexpr std::uint64_t managed_bytes = 128ull << 30;

    /// False if the address space cannot be had.
    bool reserve();

    bool holds(std::uint64_t address) const { return address - base_ < device_bytes + managed_bytes; }
    bool holds_managed(std::uint64_t address) const { return address - base_ - device_bytes < managed_bytes; }
    /// The driver's view of an address of the arena; any other address is its own view.
    char* view(std::uint64_t address) const {
        return reinterpret_cast<char*>(holds(address) ? address + distance_ : address);
    }

    /// Opens the host's view of managed memory, or closes it and gives the pages back.
    bool open_host_view(std::uint64_t address, std::uint64_t bytes);
    void close_host_view(std::uint64_t address, std::uint64_t bytes);
    /// Gives the pages of a free range back to the system; the next user finds zeros.
    void discard(std::uint64_t address, std::uint64_t bytes);

    /// Puts a part of another file behind a free range, or takes it away again.
    bool map_file(std::uint64_t address, std::uint64_t bytes, int file, std::uint64_t offset);
    void unmap_file(std::uint64_t address, std::uint64_t bytes);
    /// Lets the host see what stands behind the range, or no longer. `file` and `offset` as for map_file.
    bool show_file(std::uint64_t address, std::uint64_t bytes, int file, std::uint64_t offset);

    int file() const { return file_; }
    std::uint64_t offset_of(std::uint64_t address) const { return address - base_; }

    static constexpr std::uint64_t bytes() { return device_bytes + managed_bytes; }
    std::uint64_t distance() const { return distance_; }
    std::uint64_t device_begin() const { return base_; }
    std::uint64_t managed_begin() const { return base_ + device_bytes; }
    std::uint64_t end() const { return base_ + device_bytes + managed_bytes; }

private:
    int file_ = -1;
    std::uint64_t base_ = ~0ull;
    std::uint64_t distance_ = 0;
};

} // namespace simcuda

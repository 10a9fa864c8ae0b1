#pragma once

#include <cstddef>
#include <cstdint>

/// What a fat binary is to the real driver: the kernels and variables of one translation unit. portable.hpp
/// fills it, the runtime passes it to cuLibraryLoadData or cuModuleLoadData, the driver reads it.
namespace simcuda {

struct Shape {
    unsigned grid[3];
    unsigned block[3];
};

/// A kernel compiled for the host: runs all its threads, one after the other.
struct KernelEntry {
    const char* name;
    std::size_t parameter_count;
    const std::size_t* parameter_offsets;
    const std::size_t* parameter_sizes;
    void (*run)(void** arguments, const Shape& shape);
    KernelEntry* next;
    struct Image* image;
};

struct VariableEntry {
    const char* name;
    std::size_t bytes;
    const void* initial; ///< nullptr: zero
    VariableEntry* next;
    struct Image* image;
};

inline constexpr std::uint64_t image_magic = 0x3141444355434d53; // "SMCUCDA1" read as a number

/// The lists grow while the program runs: a kernel enters at its first launch. Guarded by the runtime's lock.
struct Image {
    std::uint64_t magic = image_magic;
    KernelEntry* kernels = nullptr;
    VariableEntry* variables = nullptr;
};

/// The table behind cuGetExportTable(6bd5fb6c-5bf4-e74a-8987-d93912fd9df9): what compiled device code needs.
///
/// Device addresses lie in [begin, begin + bytes). A kernel that touches one looks at touched[2 * granule +
/// write], granule counting 64 KiB from begin: if it equals *epoch, the running kernel has reported this
/// granule already, and the data is at address + distance. Else, and for any other address, it calls touch().
struct DeviceInterface {
    std::uint64_t begin;
    std::uint64_t bytes;
    std::uint64_t distance;
    const std::uint64_t* touched;
    const std::uint64_t* epoch;
    /// Reports the touch; the answer is where the host reaches the data.
    void* (*touch)(std::uint64_t address, bool write);
    /// Adds arithmetic to the running kernel's time.
    void (*compute)(double operations);
};

inline constexpr unsigned char device_interface_uuid[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                            0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

} // namespace simcuda

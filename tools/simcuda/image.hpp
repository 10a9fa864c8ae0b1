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
struct DeviceInterface {
    std::size_t bytes;
    /// The address a kernel may use instead of device address `address`, after reporting the touch of its 64
    /// KiB granule.
    void* (*touch)(std::uint64_t address, bool write);
    /// Rises whenever an earlier touch may no longer stand for a later one.
    const std::uint64_t* (*epoch)();
    /// Adds arithmetic to the running kernel's time.
    void (*compute)(double operations);
};

inline constexpr unsigned char device_interface_uuid[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                            0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

} // namespace simcuda

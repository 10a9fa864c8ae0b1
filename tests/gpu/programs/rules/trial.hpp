#pragma once
// What one run of rule_cases is asked for and what it says of itself, and the kernels that its rows share.
#include "options.hpp"
#include "tests/gpu/programs/habits/timeline.hpp"
#include "tools/simcuda/portable.hpp"

#include <cstddef>
#include <vector>

namespace rules {

inline constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

struct Trial {
    std::size_t bytes = 0; ///< of the memory that the row is about
    unsigned rounds = 0;   ///< how often it does what it does
    bool right = true;     ///< all data came out as computed on paper
    double microseconds = 0;

    /// Runs the part of a row that the fault is in, from an idle device until all of it is done.
    template <class Act>
    void timed(const Act& act) {
        CHECK(cudaDeviceSynchronize());
        const habits::Nanoseconds begin = habits::now();
        act();
        CHECK(cudaDeviceSynchronize());
        microseconds += static_cast<double>(habits::now() - begin) / 1e3;
    }
    /// The same `rounds` times.
    template <class Act>
    void timed_rounds(const Act& act) {
        timed([&] {
            for (unsigned round = 0; round < rounds; ++round)
                act(round);
        });
    }
    void expect(bool holds) { right = right && holds; }
};

KERNEL fill(DevicePtr<unsigned> words, std::size_t count, unsigned value) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        words[i] = value;
}

KERNEL add_one(DevicePtr<unsigned> words, std::size_t count) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        words[i] += 1;
}

/// to[i] += from[i]
KERNEL accumulate(DevicePtr<unsigned> to, DevicePtr<const unsigned> from, std::size_t count) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        to[i] += from[i];
}

/// Each thread does `steps` dependent multiplications: time that no memory decides.
KERNEL compute(DevicePtr<unsigned> words, std::size_t count, unsigned steps) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
        unsigned value = words[i];
        for (unsigned step = 0; step < steps; ++step)
            value = value * 1664525u + 1013904223u;
        COMPUTE(steps);
        words[i] = value;
    }
}

/// The host is busy with something of its own.
inline void work_on_host(std::uint64_t microseconds) {
    habits::wait_until(habits::now() + microseconds * 1000);
}

inline constexpr unsigned grid = 264, block = 256;

/// One thread alone, for so many steps that wait for each other: 2.3 ns each on an H200, in which its other
/// units could do 76,000 operations.
KERNEL count_alone(DevicePtr<unsigned> words, unsigned steps) {
    unsigned value = words[0];
    for (unsigned step = 0; step < steps; ++step)
        value = value * 1664525u + 1013904223u;
    COMPUTE(steps * std::size_t{76'000});
    words[0] = value;
}

/// Keeps the device busy, for about so long on an H200.
inline void work_on_device(unsigned* words, unsigned microseconds, cudaStream_t stream = nullptr) {
    LAUNCH(count_alone, 1, 1, stream, words, microseconds * 435);
}

/// Device memory of `bytes`, freed at the end of the row.
class DeviceWords {
public:
    explicit DeviceWords(std::size_t bytes) : count(bytes / sizeof(unsigned)) {
        CHECK(cudaMalloc(&words, bytes));
    }
    ~DeviceWords() { CHECK(cudaFree(words)); }
    DeviceWords(const DeviceWords&) = delete;
    DeviceWords& operator=(const DeviceWords&) = delete;

    unsigned* words = nullptr;
    std::size_t count;
};

/// Page-locked host memory, likewise.
class PinnedWords {
public:
    explicit PinnedWords(std::size_t bytes) : count(bytes / sizeof(unsigned)) {
        CHECK(cudaMallocHost(&words, bytes));
    }
    ~PinnedWords() { CHECK(cudaFreeHost(words)); }
    PinnedWords(const PinnedWords&) = delete;
    PinnedWords& operator=(const PinnedWords&) = delete;

    unsigned* words = nullptr;
    std::size_t count;
};

} // namespace rules

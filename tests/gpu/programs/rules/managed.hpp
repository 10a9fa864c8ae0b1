#pragma once
// Managed memory that both sides use, for the rows on it.
#include "trial.hpp"

#include <memory>

namespace rules {

inline constexpr cudaMemLocation on_device{cudaMemLocationTypeDevice, 0}, on_host{cudaMemLocationTypeHost, 0};

/// Longer than the driver remembers who was there last: what the sides do is alternation, not thrashing.
inline void step_apart() {
    CHECK(cudaDeviceSynchronize());
    habits::pass_host_time(std::size_t{20} << 20);
}

/// to[0] += the sum of from[i]
static KERNEL add_up(DevicePtr<unsigned> to, DevicePtr<const unsigned> from, std::size_t count) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    unsigned sum = 0;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        sum += from[i];
    atomicAdd(to, sum);
}

/// Managed memory, freed at the end of the row. What the host does to it takes time on simcuda, too.
class ManagedWords {
public:
    explicit ManagedWords(std::size_t size) : bytes(size), count(size / sizeof(unsigned)) {
        CHECK(cudaMallocManaged(&words, size));
    }
    ~ManagedWords() { CHECK(cudaFree(words)); }
    ManagedWords(const ManagedWords&) = delete;
    ManagedWords& operator=(const ManagedWords&) = delete;

    void prefetch(cudaMemLocation where) const { CHECK(cudaMemPrefetchAsync(words, bytes, where, 0, nullptr)); }
    /// As a kernel could not: no value follows from the one before it.
    void fill_from_host(unsigned seed) const {
        for (std::size_t i = 0; i < count; ++i)
            words[i] = seed = (seed ^ (seed >> 13)) * 2654435761u + static_cast<unsigned>(i);
    }
    void count_up_from_host() const {
        for (std::size_t i = 0; i < count; ++i)
            words[i] = static_cast<unsigned>(i);
    }
    void fill_on_device(unsigned value) const { LAUNCH(fill, grid, block, nullptr, words, count, value); }
    void raise() const { LAUNCH(add_one, grid, block, nullptr, words, count); }
    void raise_from_host(unsigned by = 1) const {
        for (std::size_t i = 0; i < count; ++i)
            words[i] += by;
        habits::pass_host_time(bytes);
    }
    unsigned sum() const { return sum(count); }
    unsigned sum(std::size_t first_words) const {
        unsigned sum = 0;
        for (std::size_t i = 0; i < first_words; ++i)
            sum += words[i];
        habits::pass_host_time(first_words * sizeof(unsigned));
        return sum;
    }

    /// Each step waits for the one before, longer than a word takes to come from memory.
    unsigned digest(std::size_t first_words) const {
        unsigned digest = 0;
        for (std::size_t i = 0; i < first_words; ++i)
            digest = (digest ^ words[i]) * 16777619u;
        habits::pass_host_time(first_words * sizeof(unsigned));
        return digest;
    }

    unsigned* words = nullptr;
    std::size_t bytes, count;
};

/// Device memory that kernels add what they read to.
class Digest {
public:
    Digest() : words_(sizeof(unsigned)) { CHECK(cudaMemset(words_.words, 0, sizeof(unsigned))); }
    void add(const ManagedWords& data) {
        LAUNCH(add_up, grid, block, nullptr, words_.words, data.words, data.count);
    }
    /// The `part`th of `parts`.
    void add_part(const ManagedWords& data, unsigned part, unsigned parts) {
        const std::size_t count = data.count / parts;
        LAUNCH(add_up, grid, block, nullptr, words_.words, data.words + part * count, count);
    }

private:
    DeviceWords words_;
};

/// Memory of malloc that is a mapping of its own. A kernel reaches it on some machines only; on others it ends
/// with an illegal address.
using HeapWords = std::unique_ptr<unsigned[]>;

} // namespace rules

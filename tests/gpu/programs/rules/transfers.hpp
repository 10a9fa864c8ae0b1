#pragma once
// How bytes cross the link, and what they are.
#include "trial.hpp"

#include <memory>

namespace rules {

/// `make` gives the host buffer; each round it is filled anew, so that no two uploads are equal.
template <class Buffer>
void upload_rounds(Trial& trial, Buffer* host, bool asynchronous) {
    DeviceWords data(trial.bytes), total(trial.bytes);
    CHECK(cudaMemset(total.words, 0, trial.bytes));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (unsigned round = 0; round < trial.rounds; ++round) {
        for (std::size_t i = 0; i < data.count; ++i)
            host[i] = static_cast<unsigned>(i) ^ round;
        trial.timed([&] {
            if (asynchronous)
                CHECK(cudaMemcpyAsync(data.words, host, trial.bytes, cudaMemcpyHostToDevice, stream));
            else
                CHECK(cudaMemcpy(data.words, host, trial.bytes, cudaMemcpyHostToDevice));
        });
        LAUNCH(accumulate, grid, block, stream, total.words, data.words, data.count);
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamDestroy(stream));
}

inline void upload_pageable(Trial& trial) {
    const std::unique_ptr<unsigned[]> host(new unsigned[trial.bytes / sizeof(unsigned)]);
    upload_rounds(trial, host.get(), false);
}

inline void upload_pinned_async(Trial& trial) {
    const PinnedWords host(trial.bytes);
    upload_rounds(trial, host.words, true);
}

/// Pageable, but so small that the call decides and not the memory.
inline void upload_pageable_small(Trial& trial) {
    trial.bytes = 4096;
    upload_pageable(trial);
}

inline void upload_pieces(Trial& trial, std::size_t piece) {
    const PinnedWords host(trial.bytes);
    const DeviceWords data(trial.bytes);
    const std::size_t step = piece / sizeof(unsigned);
    for (unsigned round = 0; round < trial.rounds; ++round) {
        for (std::size_t i = 0; i < data.count; ++i)
            host.words[i] = static_cast<unsigned>(i) ^ round;
        trial.timed([&] {
            for (std::size_t i = 0; i < data.count; i += step)
                CHECK(cudaMemcpy(data.words + i, host.words + i, piece, cudaMemcpyHostToDevice));
        });
        LAUNCH(add_one, grid, block, nullptr, data.words, data.count);
        CHECK(cudaDeviceSynchronize());
    }
}

/// Of a buffer, one that a look at some of its bytes passes over.
inline std::size_t hidden_word(std::size_t count) {
    return count / 2 + count / 16;
}

/// Pinned words that differ, and device memory of the same size.
struct Pair {
    explicit Pair(std::size_t bytes) : host(bytes), data(bytes) {
        for (std::size_t i = 0; i < host.count; ++i)
            host.words[i] = static_cast<unsigned>(i);
    }
    void upload() const { upload(host); }
    void upload(const PinnedWords& from) const {
        CHECK(cudaMemcpy(data.words, from.words, data.count * sizeof(unsigned), cudaMemcpyHostToDevice));
    }
    void download() const {
        CHECK(cudaMemcpy(host.words, data.words, data.count * sizeof(unsigned), cudaMemcpyDeviceToHost));
    }
    PinnedWords host;
    DeviceWords data;
};

} // namespace rules

#pragma once
// UMA-101 to 104: how bytes cross the link.
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
inline void upload_pageable_async(Trial& trial) {
    const std::unique_ptr<unsigned[]> host(new unsigned[trial.bytes / sizeof(unsigned)]);
    upload_rounds(trial, host.get(), true);
}
inline void upload_pinned(Trial& trial) {
    const PinnedWords host(trial.bytes);
    upload_rounds(trial, host.words, false);
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

} // namespace rules

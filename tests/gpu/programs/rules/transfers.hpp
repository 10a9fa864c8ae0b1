#pragma once
// UMA-101 to 104: how bytes cross the link.
#include "trial.hpp"

#include <cstring>
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

// UMA-103

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
inline void upload_small_pieces(Trial& trial) {
    upload_pieces(trial, 256);
}
inline void upload_one_piece(Trial& trial) {
    upload_pieces(trial, trial.bytes);
}
/// As many bytes, a call of which costs less than what it moves.
inline void upload_large_pieces(Trial& trial) {
    upload_pieces(trial, 128 * 1024);
}

// UMA-104: a column of 4 bytes out of each row of 64.

inline constexpr std::size_t row_bytes = 64;

inline void upload_columns(Trial& trial, bool packed, std::size_t width) {
    const PinnedWords host(trial.bytes), staging(trial.bytes);
    const DeviceWords data(trial.bytes);
    const std::size_t rows = trial.bytes / row_bytes, words = width / sizeof(unsigned);
    for (unsigned round = 0; round < trial.rounds; ++round) {
        for (std::size_t i = 0; i < host.count; ++i)
            host.words[i] = static_cast<unsigned>(i) ^ round;
        trial.timed([&] {
            if (packed) {
                for (std::size_t row = 0; row < rows; ++row)
                    std::memcpy(staging.words + row * words, host.words + row * row_bytes / sizeof(unsigned),
                                width);
                CHECK(cudaMemcpy(data.words, staging.words, rows * width, cudaMemcpyHostToDevice));
            } else {
                CHECK(cudaMemcpy2D(data.words, width, host.words, row_bytes, width, rows,
                                   cudaMemcpyHostToDevice));
            }
        });
        LAUNCH(add_one, grid, block, nullptr, data.words, data.count);
        CHECK(cudaDeviceSynchronize());
    }
}
inline void upload_column(Trial& trial) {
    upload_columns(trial, false, sizeof(unsigned));
}
inline void upload_packed_column(Trial& trial) {
    upload_columns(trial, true, sizeof(unsigned));
}
/// Whole rows: contiguous on both sides.
inline void upload_all_columns(Trial& trial) {
    upload_columns(trial, false, row_bytes);
}

} // namespace rules

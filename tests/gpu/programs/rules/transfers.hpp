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

// UMA-104: rows of 16 bytes, the one beside the other or far apart.

inline constexpr std::size_t row_bytes = 16;

inline void upload_columns(Trial& trial, std::size_t pitch, std::size_t width) {
    const std::size_t rows = trial.bytes / 512;
    const PinnedWords host(rows * pitch);
    const DeviceWords data(rows * width);
    for (unsigned round = 0; round < trial.rounds; ++round) {
        for (std::size_t i = 0; i < host.count; ++i)
            host.words[i] = static_cast<unsigned>(i) ^ round;
        trial.timed([&] {
            if (pitch == width) // two dimensions would be copied row by row all the same
                CHECK(cudaMemcpy(data.words, host.words, rows * width, cudaMemcpyHostToDevice));
            else
                CHECK(cudaMemcpy2D(data.words, width, host.words, pitch, width, rows, cudaMemcpyHostToDevice));
        });
        LAUNCH(add_one, grid, block, nullptr, data.words, data.count);
        CHECK(cudaDeviceSynchronize());
    }
}
inline void upload_column(Trial& trial) {
    upload_columns(trial, 512, row_bytes);
}
inline void upload_contiguous_rows(Trial& trial) {
    upload_columns(trial, row_bytes, row_bytes);
}
/// As many rows, each of which fills its packets.
inline void upload_wide_rows(Trial& trial) {
    upload_columns(trial, 512, 384);
}

} // namespace rules

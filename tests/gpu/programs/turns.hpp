#pragma once
// Rounds with umadvisor and without in one process: under `umadvisor run -c cudaProfilerApi` it is off and on
// for some rounds in turn.
#include "tests/gpu/programs/habits/timeline.hpp"
#include "tools/examples/options.hpp"

#include <cuda_profiler_api.h>

namespace managed::turns {

inline constexpr std::size_t block = 8;    ///< rounds that are off, and then as many that are on
inline constexpr std::size_t settling = 2; ///< of them not counted: each side finds memory as the other left it

inline void begin_round(std::size_t round) {
    if (round % block == 0)
        CHECK(round / block % 2 == 0 ? cudaProfilerStop() : cudaProfilerStart());
}

/// The median of the rounds that count in the block that begins with `first`.
inline double time_of_block(const std::vector<habits::Nanoseconds>& starts, std::size_t first) {
    std::vector<double> rounds;
    for (std::size_t i = first + settling; i < first + block; ++i)
        rounds.push_back(static_cast<double>(starts[i + 1] - starts[i]));
    return example::median(rounds);
}

/// One JSON line: of each pair of blocks the time with umadvisor over that without.
inline void print(const std::vector<habits::Nanoseconds>& starts) {
    std::printf("{\"ratios\": [");
    for (std::size_t first = 0; first + 2 * block < starts.size(); first += 2 * block)
        std::printf("%s%.4f", first == 0 ? "" : ", ",
                    time_of_block(starts, first + block) / time_of_block(starts, first));
    std::printf("]}\n");
}

} // namespace managed::turns

#pragma once
// UMA-401 and UMA-410: what is allocated again and again.
#include "trial.hpp"

namespace rules {

inline void scratch_rounds(Trial& trial, bool fresh, bool ordered) {
    const DeviceWords total(trial.bytes);
    CHECK(cudaMemset(total.words, 0, trial.bytes));
    unsigned* kept = nullptr;
    if (!fresh)
        CHECK(cudaMalloc(&kept, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        unsigned* scratch = kept;
        if (fresh && ordered)
            CHECK(cudaMallocAsync(&scratch, trial.bytes, nullptr));
        else if (fresh)
            CHECK(cudaMalloc(&scratch, trial.bytes));
        LAUNCH(fill, 1, block, nullptr, scratch, total.count, 1u);
        LAUNCH(accumulate, 1, block, nullptr, total.words, scratch, total.count);
        CHECK(cudaDeviceSynchronize());
        if (fresh && ordered)
            CHECK(cudaFreeAsync(scratch, nullptr));
        else if (fresh)
            CHECK(cudaFree(scratch));
    });
    if (!fresh)
        CHECK(cudaFree(kept));
}
inline void scratch_fresh(Trial& trial) {
    scratch_rounds(trial, true, false);
}
inline void scratch_kept(Trial& trial) {
    scratch_rounds(trial, false, false);
}
inline void scratch_from_pool(Trial& trial) {
    scratch_rounds(trial, true, true);
}

inline void managed_scratch_rounds(Trial& trial, bool fresh) {
    unsigned* kept = nullptr;
    if (!fresh)
        CHECK(cudaMallocManaged(&kept, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        unsigned* scratch = kept;
        if (fresh)
            CHECK(cudaMallocManaged(&scratch, trial.bytes));
        LAUNCH(fill, 1, block, nullptr, scratch, trial.bytes / sizeof(unsigned), 1u);
        CHECK(cudaDeviceSynchronize());
        if (fresh)
            CHECK(cudaFree(scratch));
    });
    if (!fresh)
        CHECK(cudaFree(kept));
}
inline void managed_scratch_fresh(Trial& trial) {
    managed_scratch_rounds(trial, true);
}
inline void managed_scratch_kept(Trial& trial) {
    managed_scratch_rounds(trial, false);
}

} // namespace rules

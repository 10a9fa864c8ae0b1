#pragma once
// What the programs of devices/ share: both devices, one after the other or side by side.
#include "tests/gpu/programs/work.hpp"

namespace managed {

inline constexpr int both = 2;

inline void need_two_devices() {
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < both)
        example::refuse("needs two devices");
}

inline void wait_for_both() {
    for (int device = 0; device < both; ++device) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaDeviceSynchronize());
    }
}

} // namespace managed

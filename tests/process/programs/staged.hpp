/// What the program of staged copies is made of.
#pragma once

#include "driver_program.hpp"

#include <cstdint>
#include <vector>

inline constexpr std::size_t mib = 1u << 20;

struct Copies {
    decltype(&cuMemcpyHtoD_v2) up;
    decltype(&cuMemcpyDtoH_v2) down;
    decltype(&cuMemcpy) any;
    decltype(&cuMemcpyHtoDAsync_v2) up_later;
    decltype(&cuMemcpyDtoHAsync_v2) down_later;
    decltype(&cuMemcpyAsync) any_later;

    explicit Copies(cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT)
        : up(ask<decltype(up)>("cuMemcpyHtoD", 13000, flags)),
          down(ask<decltype(down)>("cuMemcpyDtoH", 13000, flags)),
          any(ask<decltype(any)>("cuMemcpy", 13000, flags)),
          up_later(ask<decltype(up_later)>("cuMemcpyHtoDAsync", 13000, flags)),
          down_later(ask<decltype(down_later)>("cuMemcpyDtoHAsync", 13000, flags)),
          any_later(ask<decltype(any_later)>("cuMemcpyAsync", 13000, flags)) {}
};

inline std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
}

inline void fill(std::vector<std::uint8_t>& data, unsigned seed) {
    std::uint32_t state = seed * 2654435761u + 1;
    for (std::uint8_t& byte : data) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
}

inline std::uint64_t digest(const std::vector<std::uint8_t>& data) {
    std::uint64_t sum = 14695981039346656037u;
    for (const std::uint8_t byte : data)
        sum = (sum ^ byte) * 1099511628211u;
    return sum;
}

/// A copy's answer, and what stands in `data` then.
inline void show(const char* name, int answer, const std::vector<std::uint8_t>& data) {
    std::printf("%s %d %lx\n", name, answer, digest(data));
}

inline CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr made = 0;
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&made, bytes), "allocate");
    return made;
}

/// Pages that the program's own handler of a signal opens while they are copied.
void copy_guarded_pages();
void copy_truncated_file();

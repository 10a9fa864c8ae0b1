#pragma once

#include "tools/simcuda/driver/driver.hpp"

#include <cstring>

/// Device memory that another process maps: a handle says which part of which file of which process.
namespace simcuda {

struct SharedRange {
    char magic[8];
    int process, file;
    std::uint64_t offset, bytes;
    int device;
};

CUresult describe_shared(const Allocation& allocation, SharedRange& out);
CUresult open_shared(const SharedRange& range, Made made, CUdeviceptr* out);

/// `Handle` is one of CUDA's blocks of 64 bytes. The caller holds the mutex.
template <class Handle>
CUresult share(const Allocation& allocation, Handle& out) {
    static_assert(sizeof(SharedRange) <= sizeof out.reserved);
    SharedRange range{};
    const CUresult answer = describe_shared(allocation, range);
    std::memset(&out, 0, sizeof out);
    std::memcpy(out.reserved, &range, sizeof range);
    return answer;
}

template <class Handle>
CUresult open_shared(const Handle& handle, Made made, CUdeviceptr* out) {
    SharedRange range{};
    std::memcpy(&range, handle.reserved, sizeof range);
    return open_shared(range, made, out);
}

} // namespace simcuda

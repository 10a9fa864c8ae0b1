/// The program's contexts, as actions need them.
#pragma once

#include "interposer/attach/real.hpp"
#include "interposer/observe/contexts.hpp"

namespace umadvisor::act {

/// While it lives, `context` is this thread's current context, if it still exists.
class InContext {
public:
    /// Nothing is done unless it is `needed`.
    explicit InContext(CUcontext context, bool needed = true) noexcept
        : pushed_(needed && attach::real<attach::Entry::cuCtxPushCurrent_v2>()(context) == CUDA_SUCCESS) {}
    ~InContext() noexcept {
        CUcontext popped = nullptr;
        if (pushed_)
            attach::real<attach::Entry::cuCtxPopCurrent_v2>()(&popped);
    }
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;
    explicit operator bool() const noexcept { return pushed_; }

private:
    bool pushed_;
};

/// Whether a wait for the current context may be less than that of a free: contexts of several devices share
/// all pinned memory, and a green context is only a part of one.
inline bool has_several_contexts() noexcept {
    if (observe::any_is_joined())
        return true;
    int devices = 0, used = 0;
    if (attach::real<attach::Entry::cuDeviceGetCount>()(&devices) != CUDA_SUCCESS)
        return true;
    for (int ordinal = 0; devices > 1 && ordinal < devices; ++ordinal) {
        CUdevice device = 0;
        unsigned flags = 0;
        int active = 1;
        if (attach::real<attach::Entry::cuDeviceGet>()(&device, ordinal) != CUDA_SUCCESS ||
            attach::real<attach::Entry::cuDevicePrimaryCtxGetState>()(device, &flags, &active) != CUDA_SUCCESS)
            return true;
        used += active;
    }
    return used > 1;
}

} // namespace umadvisor::act

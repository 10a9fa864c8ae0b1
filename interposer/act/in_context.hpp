/// The program's contexts, as actions need them.
#pragma once

#include "interposer/attach/real.hpp"

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

} // namespace umadvisor::act

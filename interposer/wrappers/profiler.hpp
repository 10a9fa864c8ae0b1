/// The part of a run that the program itself asks to be profiled.
#pragma once

#include "interposer/runtime/options.hpp"
#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// cuProfilerStart: with UMADVISOR_CAPTURE_RANGE ends a pause.
struct start_profiling : WhilePaused {
    template <Entry E>
    static CUresult call() noexcept {
        const CUresult result = attach::real<E>()();
        if (runtime::options().capture_range)
            record::resume();
        return result;
    }
};

/// cuProfilerStop: with UMADVISOR_CAPTURE_RANGE begins one.
struct stop_profiling : WhilePaused {
    template <Entry E>
    static CUresult call() noexcept {
        if (runtime::options().capture_range)
            record::pause();
        return attach::real<E>()();
    }
};

} // namespace umadvisor::wrappers

/// Keeping our own driver calls out of the program's stream captures.
#pragma once

#include "interposer/attach/real.hpp"

#include <atomic>
#include <cstdint>

namespace umadvisor::observe {

/// Whether `stream` (an explicit handle) may be recording a graph. Any answer but a clear no counts as yes:
/// while another stream captures, the legacy stream answers CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
inline bool may_be_capturing(CUstream stream) noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return attach::real<attach::Entry::cuStreamIsCapturing>()(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// Captures that the program has begun and not ended. One whose stream was destroyed stays counted: then
/// streams are asked for nothing.
inline constinit std::atomic<std::uint32_t> captures_under_way{0};

inline void end_capture() noexcept {
    std::uint32_t before = captures_under_way.load(std::memory_order_relaxed);
    while (before != 0 &&
           !captures_under_way.compare_exchange_weak(before, before - 1, std::memory_order_relaxed)) {
    }
}

/// One load.
inline bool nothing_is_captured() noexcept {
    return captures_under_way.load(std::memory_order_relaxed) == 0;
}

/// Whether what enters `stream` (an explicit handle) becomes a node of a graph instead of running. One load
/// while nothing is captured.
inline bool is_captured(CUstream stream) noexcept {
    if (nothing_is_captured()) [[likely]]
        return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return stream != nullptr && stream != CU_STREAM_LEGACY &&
           attach::real<attach::Entry::cuStreamIsCapturing>()(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// While it lives, calls of this thread that are "potentially unsafe" (cuThreadExchangeStreamCaptureMode) do
/// not invalidate a capture that another thread has begun in global mode.
class RelaxedCapture {
public:
    RelaxedCapture() noexcept : exchanged_(exchange()) {}
    ~RelaxedCapture() noexcept {
        if (exchanged_)
            exchange();
    }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
    bool exchange() noexcept {
        return attach::real<attach::Entry::cuThreadExchangeStreamCaptureMode>()(&mode_) == CUDA_SUCCESS;
    }

    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool exchanged_;
};

} // namespace umadvisor::observe

/// Keeping our own driver calls out of the program's stream captures.
#pragma once

#include "interposer/attach/real.hpp"

namespace umadvisor::observe {

/// Whether `stream` (an explicit handle) may be recording a graph. Any answer but a clear no counts as yes:
/// while another stream captures, the legacy stream answers CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
inline bool may_be_capturing(CUstream stream) noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return attach::real<attach::Entry::cuStreamIsCapturing>()(stream, &status) != CUDA_SUCCESS ||
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

/// Keeping our own driver calls out of the program's stream captures.
#pragma once

#include "interposer/attach/real.hpp"

#include <atomic>
#include <cstdint>

namespace umadvisor::observe {

/// Whether `stream` (an explicit handle) may be recording a graph. An error counts as yes: while another stream
/// captures, the legacy stream answers CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
inline bool may_be_capturing(CUstream stream) noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return attach::real<attach::Entry::cuStreamIsCapturing>()(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// Number of captures that the program has begun and not ended, and whose streams have not been destroyed.
inline constinit std::atomic<std::uint32_t> captures_under_way{0};

/// Where a capture was begun. It ends on the same stream, or when the stream, its context or its green context
/// is destroyed.
struct CaptureOrigin {
    CUstream stream;
    CUcontext context;
    CUgreenCtx green;     ///< null: none
    std::uint32_t thread; ///< for the per-thread default stream, whose handle all threads share; else 0

    bool same_stream(const CaptureOrigin& other) const noexcept {
        return stream == other.stream && thread == other.thread && (thread == 0 || context == other.context);
    }
};

/// The origin of a capture that this thread is about to begin on `stream`. Asks the driver. Thread-safe, as are
/// the functions below.
CaptureOrigin capture_origin(CUstream stream) noexcept;

/// Number of the latest capture. It is read before a call that may end captures, since the call does not end
/// those that begin meanwhile.
std::uint64_t captures_begun() noexcept;

/// The driver has begun a capture.
void begin_capture(const CaptureOrigin& origin) noexcept;
/// The program has called for the end of the capture on `stream`, after `last` had begun.
void end_capture(CUstream stream, std::uint64_t last, CUresult answer) noexcept;

/// The stream, the context with its streams, or the green context was destroyed by a call before which `last`
/// had begun.
void forget_captures(CUstream stream, std::uint64_t last) noexcept;
void forget_captures(CUcontext context, std::uint64_t last) noexcept;
void forget_captures(CUgreenCtx green, std::uint64_t last) noexcept;

inline bool nothing_is_captured() noexcept {
    return captures_under_way.load(std::memory_order_relaxed) == 0;
}

/// Whether work given to `stream` (an explicit handle) becomes a node of a graph instead of running. One load
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

#include "interposer/observe/capture.hpp"

#include "interposer/base/bounded_list.hpp"
#include "interposer/record/mutex.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::observe {

namespace {

using attach::Entry;
using attach::real;

struct Begun {
    CaptureOrigin origin;
    std::uint64_t number;
};

constinit record::Mutex mutex{
    record::Lock::tables}; ///< guards what follows; captures_under_way is read without it
constinit base::BoundedList<Begun, 256> begun;
constinit std::uint32_t unlisted = 0; ///< captures for which `begun` had no room
constinit std::atomic<std::uint64_t> last_number{0};

/// With `mutex` held.
void count() {
    captures_under_way.store(begun.size() + unlisted, std::memory_order_relaxed);
}

/// With `mutex` held. Returns whether it forgot any.
template <class Gone>
bool forget(std::uint64_t last, Gone gone) {
    const auto is_gone = [&](const Begun& each) { return each.number <= last && gone(each.origin); };
    const bool any = begun.drop(is_gone) != 0;
    count();
    return any;
}

CUcontext current_context() {
    CUcontext context = nullptr;
    return real<Entry::cuCtxGetCurrent>()(&context) == CUDA_SUCCESS ? context : nullptr;
}

CaptureOrigin own_stream() {
    return {CU_STREAM_PER_THREAD, current_context(), nullptr, static_cast<std::uint32_t>(syscall(SYS_gettid))};
}

bool captures_still(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return real<Entry::cuStreamIsCapturing>()(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

} // namespace

CaptureOrigin capture_origin(CUstream stream) noexcept {
    if (stream == CU_STREAM_PER_THREAD)
        return own_stream();
    CaptureOrigin origin{stream, nullptr, nullptr, 0};
    if (attach::available(Entry::cuStreamGetCtx_v2) &&
        real<Entry::cuStreamGetCtx_v2>()(stream, &origin.context, &origin.green) == CUDA_SUCCESS)
        return origin;
    origin.green = nullptr;
    if (real<Entry::cuStreamGetCtx>()(stream, &origin.context) != CUDA_SUCCESS)
        origin.context = current_context();
    return origin;
}

std::uint64_t captures_begun() noexcept {
    return last_number.load(std::memory_order_relaxed);
}

void begin_capture(const CaptureOrigin& origin) noexcept {
    const record::Guard guard(mutex);
    const std::uint64_t number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
    // A stream captures once at a time, so an earlier capture with its handle ended unseen.
    forget(number, [&](const CaptureOrigin& each) { return each.same_stream(origin); });
    if (begun.full())
        ++unlisted;
    else
        begun.add({origin, number});
    count();
}

void end_capture(CUstream stream, std::uint64_t last, CUresult answer) noexcept {
    const CaptureOrigin ended =
        stream == CU_STREAM_PER_THREAD ? own_stream() : CaptureOrigin{stream, nullptr, nullptr, 0};
    // An invalidated capture has ended, too, but a call that was refused otherwise has ended nothing. The
    // driver must not be asked about an invalid stream.
    if (answer != CUDA_SUCCESS && (answer == CUDA_ERROR_INVALID_HANDLE || captures_still(stream)))
        return;
    const record::Guard guard(mutex);
    if (!forget(last, [&](const CaptureOrigin& each) { return each.same_stream(ended); }) &&
        answer == CUDA_SUCCESS && unlisted != 0)
        --unlisted;
    count();
}

void forget_captures(CUstream stream, std::uint64_t last) noexcept {
    if (nothing_is_captured())
        return;
    const record::Guard guard(mutex);
    forget(last, [&](const CaptureOrigin& each) { return each.stream == stream && each.thread == 0; });
}

void forget_captures(CUcontext context, std::uint64_t last) noexcept {
    if (nothing_is_captured() || context == nullptr)
        return;
    const record::Guard guard(mutex);
    forget(last, [&](const CaptureOrigin& each) { return each.context == context; });
}

void forget_captures(CUgreenCtx green, std::uint64_t last) noexcept {
    if (nothing_is_captured() || green == nullptr)
        return;
    const record::Guard guard(mutex);
    forget(last, [&](const CaptureOrigin& each) { return each.green == green; });
}

} // namespace umadvisor::observe

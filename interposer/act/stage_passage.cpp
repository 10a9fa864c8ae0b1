#include "interposer/act/stage_passage.hpp"

#include "interposer/attach/real.hpp"

#include <algorithm>

namespace umadvisor::act {

using attach::Entry;
using attach::real;

CUresult StagePassage::await(StageBuffer& buffer) noexcept {
    const CUresult answer = real<Entry::cuEventSynchronize>()(buffer.passed);
    buffer.in_flight = buffer.in_flight && answer != CUDA_SUCCESS;
    return answer;
}

/// After a transfer between device and buffer: the event that tells of its end.
CUresult StagePassage::transferred(StageBuffer& buffer, CUresult answer) noexcept {
    if (answer == CUDA_SUCCESS)
        answer = real<Entry::cuEventRecord>()(buffer.passed, stream_);
    buffer.in_flight = answer == CUDA_SUCCESS;
    return answer;
}

char* StagePassage::host_of(std::size_t piece) const noexcept {
    const std::uint64_t offset = plan_.offset(piece);
    return host_ + (rows_.width == 0 ? offset : offset / rows_.width * rows_.host_pitch);
}

StageJob StagePassage::job(std::size_t piece, bool fill) noexcept {
    char *const pinned = buffer(piece).at, *const host = host_of(piece);
    return {.to = fill ? pinned : host,
            .from = fill ? host : pinned,
            .bytes = plan_.bytes(piece),
            .manner = policy::stage_manner(piece, plan_.count(), cached_),
            .width = rows_.width,
            .to_pitch = fill ? rows_.width : rows_.host_pitch,
            .from_pitch = fill ? rows_.host_pitch : rows_.width};
}

/// Between the piece's buffer and the device.
CUresult StagePassage::transfer(std::size_t piece, bool to_device) noexcept {
    char* const pinned = buffer(piece).at;
    const std::uint64_t offset = plan_.offset(piece);
    const std::size_t bytes = plan_.bytes(piece);
    if (rows_.width == 0)
        return to_device ? real<Entry::cuMemcpyHtoDAsync_v2>()(device_ + offset, pinned, bytes, stream_)
                         : real<Entry::cuMemcpyDtoHAsync_v2>()(pinned, device_ + offset, bytes, stream_);
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = pinned;
    copy.srcDevice = copy.dstDevice = device_ + offset / rows_.width * rows_.device_pitch;
    copy.srcPitch = to_device ? rows_.width : rows_.device_pitch;
    copy.dstPitch = to_device ? rows_.device_pitch : rows_.width;
    copy.WidthInBytes = rows_.width;
    copy.Height = bytes / rows_.width;
    return real<Entry::cuMemcpy2DAsync_v2>()(&copy, stream_);
}

/// Has every free buffer filled; waits only for the one that is to be sent next.
CUresult StagePassage::fill_ahead() noexcept {
    for (; begun_ < plan_.count() && begun_ < passed_ + policy::stage_buffers; ++begun_, ++put_) {
        StageBuffer& next = buffer(begun_);
        if (next.in_flight) {
            const bool needed = begun_ == passed_;
            const CUresult answer = needed ? await(next) : real<Entry::cuEventQuery>()(next.passed);
            if (answer == CUDA_ERROR_NOT_READY && !needed)
                return CUDA_SUCCESS;
            if (answer != CUDA_SUCCESS)
                return answer;
            next.in_flight = false;
        }
        next.job = job(begun_, true);
        pool_.put(next.job);
    }
    return CUDA_SUCCESS;
}

CUresult StagePassage::to_device() noexcept {
    for (; passed_ < plan_.count(); ++passed_) {
        if (const CUresult answer = fill_ahead(); answer != CUDA_SUCCESS)
            return answer;
        StageBuffer& full = buffer(passed_);
        pool_.wait(full.job);
        const CUresult answer = transferred(full, transfer(passed_, true));
        if (answer != CUDA_SUCCESS)
            return answer;
    }
    return CUDA_SUCCESS;
}

/// Has the device fill every free buffer; waits only for the one that is needed next.
CUresult StagePassage::fetch_ahead() noexcept {
    for (; begun_ < plan_.count() && begun_ < passed_ + policy::stage_buffers; ++begun_) {
        StageBuffer& next = buffer(begun_);
        if (begun_ >= policy::stage_buffers) {
            if (begun_ == passed_)
                pool_.wait(next.job);
            else if (!pool_.finished(next.job))
                return CUDA_SUCCESS;
        }
        if (next.in_flight) // by an earlier copy to the device
            if (const CUresult answer = await(next); answer != CUDA_SUCCESS)
                return answer;
        const CUresult answer = transferred(next, transfer(begun_, false));
        if (answer != CUDA_SUCCESS)
            return answer;
    }
    return CUDA_SUCCESS;
}

CUresult StagePassage::to_host() noexcept {
    pool_.rouse();
    for (; passed_ < plan_.count(); ++passed_, ++put_) {
        CUresult answer = fetch_ahead();
        StageBuffer& full = buffer(passed_);
        if (answer == CUDA_SUCCESS)
            answer = await(full);
        if (answer != CUDA_SUCCESS)
            return answer;
        full.job = job(passed_, false);
        pool_.put(full.job);
    }
    finish_jobs();
    return CUDA_SUCCESS;
}

CUresult StagePassage::finish() noexcept {
    return await(buffer(plan_.count() - 1));
}

void StagePassage::finish_jobs() noexcept {
    for (std::size_t piece = put_ - std::min<std::size_t>(put_, policy::stage_buffers); piece < put_; ++piece)
        pool_.wait(buffer(piece).job);
}

/// What the stream had is done then, also a transfer whose event could not be recorded.
bool StagePassage::abandon() noexcept {
    finish_jobs();
    return real<Entry::cuStreamSynchronize>()(stream_) == CUDA_SUCCESS;
}

} // namespace umadvisor::act

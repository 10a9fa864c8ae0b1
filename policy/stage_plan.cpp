#include "policy/stage_plan.hpp"

#include <algorithm>

namespace umadvisor::policy {

StageWay stage_way(const trace::Copy& copy) noexcept {
    using trace::Memory;
    if (copy.captured != 0 || copy.batch != 0 || copy.depth > 1)
        return StageWay::none;
    if (copy.width != 0 && (copy.width < staged_row_least || copy.width > staged_row_most ||
                            copy.source_pitch < copy.width || copy.destination_pitch < copy.width))
        return StageWay::none;
    if (copy.source_memory == Memory::pageable && copy.destination_memory == Memory::device)
        return copy.bytes >= staged_to_device_from ? StageWay::to_device : StageWay::none;
    if (copy.source_memory == Memory::device && copy.destination_memory == Memory::pageable)
        return copy.bytes >= staged_to_host_from ? StageWay::to_host : StageWay::none;
    return StageWay::none;
}

StageRows stage_rows(const trace::Copy& copy, StageWay way) noexcept {
    const bool to_device = way == StageWay::to_device;
    if (copy.width == 0 || (copy.source_pitch == copy.width && copy.destination_pitch == copy.width))
        return {};
    return {copy.width, to_device ? copy.source_pitch : copy.destination_pitch,
            to_device ? copy.destination_pitch : copy.source_pitch};
}

StagePlan::StagePlan(std::uint64_t bytes, std::size_t buffer_bytes, std::uint64_t row) noexcept
    : bytes_(bytes) {
    const std::uint64_t share = bytes / stage_buffers / stage_slice_bytes * stage_slice_bytes;
    piece_ = std::clamp<std::uint64_t>(share, stage_piece_least, buffer_bytes);
    piece_ = std::max(row, piece_ / row * row);
}

std::size_t StagePlan::bytes(std::size_t piece) const noexcept {
    return static_cast<std::size_t>(std::min(piece_, bytes_ - offset(piece)));
}

StageManner stage_manner(std::size_t piece, std::size_t pieces, bool cached) noexcept {
    if (!cached || pieces < stage_cached_from)
        return {stage_few_threads, true};
    return {stage_threads, piece + stage_buffers >= pieces};
}

unsigned stage_threads_for(unsigned cores) noexcept {
    return cores < 2 ? 0 : std::min(stage_threads, cores - 1);
}

} // namespace umadvisor::policy

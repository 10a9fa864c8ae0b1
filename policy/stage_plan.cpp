#include "policy/stage_plan.hpp"

#include <algorithm>

namespace umadvisor::policy {

StageDirection stage_direction(const trace::Copy& copy) noexcept {
    using trace::Memory;
    if (copy.captured != 0 || copy.batch != 0 || copy.depth > 1)
        return StageDirection::none;
    if (copy.width != 0 && (copy.width < staged_row_least || copy.width > staged_row_most ||
                            copy.source_pitch < copy.width || copy.destination_pitch < copy.width))
        return StageDirection::none;
    if (copy.source_memory == Memory::pageable && copy.destination_memory == Memory::device)
        return copy.bytes >= staged_to_device_from ? StageDirection::to_device : StageDirection::none;
    if (copy.source_memory == Memory::device && copy.destination_memory == Memory::pageable)
        return copy.bytes >= staged_to_host_from ? StageDirection::to_host : StageDirection::none;
    return StageDirection::none;
}

StageRows stage_rows(const trace::Copy& copy, StageDirection direction) noexcept {
    const bool to_device = direction == StageDirection::to_device;
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

namespace {

constexpr std::uint64_t first = 5; ///< copy
constexpr std::uint64_t first_measured = 96;
constexpr std::uint64_t soon = 3; ///< copies
constexpr std::uint64_t growth = 4;
constexpr unsigned most_losses = 2;

} // namespace

bool StagePace::faster_than(const StagePace& other) const noexcept {
    return static_cast<double>(ticks) * static_cast<double>(other.bytes) <
           static_cast<double>(other.ticks) * static_cast<double>(bytes);
}

StageTrials::Choice StageTrials::choose(std::uint64_t name) noexcept {
    Site* const site = find(name);
    if (site == nullptr)
        return Choice::stage;
    if (site->losses == most_losses)
        return Choice::leave;
    if (++site->copies < site->next || site->staged.bytes == 0)
        return Choice::stage;
    site->next = site->copies + soon; // should the copy of this comparison fail, the next one comes soon, too
    return Choice::compare;
}

void StageTrials::staged(std::uint64_t name, StagePace copy) noexcept {
    if (Site* const site = find(name)) {
        site->staged.bytes += copy.bytes;
        site->staged.ticks += copy.ticks;
    }
}

bool StageTrials::compared(std::uint64_t name, StagePace copy, StagePace& staged) noexcept {
    Site* const site = find(name);
    if (site == nullptr || site->staged.bytes == 0 || site->losses == most_losses)
        return false; // another thread's comparison came in between
    staged = site->staged;
    site->staged = {};
    if (measures_ || !copy.faster_than(staged)) {
        site->losses = 0;
        site->next = growth * site->copies;
        return false;
    }
    return ++site->losses == most_losses;
}

StageTrials::Site* StageTrials::find(std::uint64_t name) noexcept {
    const std::uint64_t hash = name * 0x9e3779b97f4a7c15u >> 32;
    for (std::size_t i = 0; i < most_sites; ++i) {
        Site& site = sites_[(hash + i) % most_sites];
        if (site.name == 0) {
            site.name = name;
            site.next = measures_ ? first_measured : first;
        }
        if (site.name == name)
            return &site;
    }
    return nullptr;
}

} // namespace umadvisor::policy

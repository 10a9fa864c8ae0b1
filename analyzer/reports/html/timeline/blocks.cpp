#include "analyzer/reports/html/timeline/blocks.hpp"

#include <algorithm>
#include <cmath>

namespace umadvisor::html {

void Blocks::take(const PlaceStep& step) {
    using Kind = PlaceStep::Kind;
    switch (step.kind) {
    case Kind::alloc:
        return alloc(step);
    case Kind::free:
        return free(step);
    case Kind::host_fault:
    case Kind::device_fault:
    case Kind::migration:
    case Kind::duplicated:
        return pass_on(step);
    default:
        return;
    }
}

void Blocks::alloc(const PlaceStep& step) {
    if (step.bytes == 0)
        return;
    if (step.line >= numbers_.size())
        numbers_.resize(step.line + 1);
    const std::uint32_t number = numbers_[step.line]++;
    if (step.memory != trace::Memory::managed || step.address == 0 || rows_.size() == most_followed)
        return;
    Followed followed{step.address, step.address + step.bytes, 2 << 20, next_, 0, rows_.size()};
    std::uint64_t base = 0;
    for (;; followed.block_bytes *= 2) {
        base = step.address & ~(followed.block_bytes - 1);
        if ((followed.end - base + followed.block_bytes - 1) / followed.block_bytes <= most_blocks)
            break;
    }
    PlaceStep block = step;
    block.line = static_cast<std::uint32_t>(rows_.size());
    for (; base < followed.end; base += followed.block_bytes) {
        block.allocation = trace::AllocationId{next_++};
        block.address = std::max(base, followed.address);
        block.bytes = std::min(base + followed.block_bytes, followed.end) - block.address;
        placement_.take(block);
        ++followed.count;
    }
    rows_.push_back({step.line, number, followed.block_bytes, false, {}});
    live_[step.address] = followed;
    at_[step.allocation] = step.address;
}

void Blocks::free(const PlaceStep& step) {
    const auto found = at_.find(step.allocation);
    if (found == at_.end())
        return;
    const auto followed = live_.find(found->second);
    PlaceStep block = step;
    for (std::uint64_t i = 0; i < followed->second.count; ++i) {
        block.allocation = trace::AllocationId{followed->second.first + i};
        placement_.take(block);
    }
    live_.erase(followed);
    at_.erase(found);
}

/// Passes the step on to each block that it covers.
void Blocks::pass_on(PlaceStep step) {
    const auto next = live_.upper_bound(step.address);
    if (next == live_.begin() || step.address >= std::prev(next)->second.end)
        return;
    const Followed& followed = std::prev(next)->second;
    rows_.at(followed.row).told |= step.moves_known;
    const std::uint64_t end = std::min(followed.end, step.address + std::max<std::uint64_t>(1, step.bytes));
    // The first kernel that uses a block populates all of it.
    const bool populates = step.kind == PlaceStep::Kind::device_fault;
    if (populates)
        step.kind = PlaceStep::Kind::work;
    step.moves_known = true;
    step.allocation = {};
    while (step.address < end) {
        const std::uint64_t block_end = (step.address & ~(followed.block_bytes - 1)) + followed.block_bytes;
        step.bytes = populates ? followed.block_bytes : std::min(end, block_end) - step.address;
        placement_.take(step);
        step.address = block_end;
    }
}

std::vector<BlockRow> Blocks::finish(double end) {
    placement_.finish(end);
    std::erase_if(rows_, [](const BlockRow& row) { return !row.told || row.row.stays.size() > most_pieces; });
    return std::move(rows_);
}

void Blocks::stay(std::uint32_t followed, std::uint32_t block, double begin, double end, std::uint64_t bytes,
                  const std::array<float, places>& shares) {
    LineRow& row = rows_.at(followed).row;
    if (row.stays.size() > most_pieces)
        return;
    row.extend_part(block, begin, end, bytes);
    row.stays.push_back(stay_piece(begin, end, block, shares));
}

void Blocks::move(std::uint32_t followed, std::uint32_t block, double time, bool up, MoveCause cause,
                  std::uint64_t bytes) {
    LineRow& row = rows_.at(followed).row;
    if (row.moves.size() < most_pieces)
        row.moves.push_back({time, bytes, block, up, cause});
}

} // namespace umadvisor::html

#include "analyzer/whatif/job.hpp"

#include <algorithm>

namespace umadvisor::whatif {
namespace {

using residency::block_bytes;
using residency::page_bytes;

constexpr std::uint32_t none = UINT32_MAX;
constexpr std::uint64_t most_indices = std::uint64_t{1} << 28;

std::uint64_t hash_of(const std::vector<std::uint32_t>& numbers) {
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325; // FNV-1a, word by word
    for (const std::uint32_t number : numbers)
        hash = (hash ^ number) * 0x100'0000'01b3;
    return hash;
}

} // namespace

std::uint64_t bytes_in_block(const Extent& extent, std::uint64_t block) {
    const std::uint64_t base = (extent.place / block_bytes + block) * block_bytes;
    return std::min(base + block_bytes, extent.place + extent.bytes) - std::max(base, extent.place);
}

bool Job::spend(std::uint64_t bytes, std::uint64_t reached, std::uint64_t begun) {
    if (left_out_ != 0 || spent_ + bytes + (live_ + begun) * block_price > most_bytes_ ||
        worked_ + reached + begun > most_work) {
        ++left_out_; // and all of what follows: parts of a run would be no run
        return false;
    }
    spent_ += bytes;
    live_ += begun;
    worked_ += reached + begun;
    return true;
}

void Job::add(std::uint64_t time, StepKind kind, std::uint64_t index) {
    Step step{};
    step.time = static_cast<std::uint32_t>(std::min(static_cast<double>(time) / unit_ns, 4294967295.0));
    step.kind = kind;
    step.index = index & (most_indices - 1); // spend() allows far fewer
    steps_.push_back(step);
}

std::uint32_t Job::begin(std::uint64_t time, std::uint64_t address, std::uint64_t bytes, bool moves) {
    Extent extent{next_place_ + address % block_bytes / page_bytes * page_bytes,
                  (bytes + page_bytes - 1) / page_bytes * page_bytes,
                  moves,
                  {}};
    const std::uint64_t blocks = moves ? extent.blocks() : 0;
    if (!spend(sizeof(Step) + sizeof(Extent) + blocks / 8, 0, blocks))
        return none;
    if (moves) {
        extent.reached.resize(extent.blocks());
        next_place_ += extent.blocks() * block_bytes;
    }
    extents_.push_back(std::move(extent));
    add(time, StepKind::begin, extents_.size() - 1);
    return static_cast<std::uint32_t>(extents_.size() - 1);
}

void Job::end(std::uint64_t time, std::uint32_t extent) {
    if (extent == none || !spend(sizeof(Step)))
        return;
    live_ -= extents_[extent].moves ? extents_[extent].blocks() : 0;
    add(time, StepKind::end, extent);
}

void Job::launch(std::uint64_t time, const std::vector<std::uint32_t>& reach) {
    std::uint64_t blocks = 0;
    for (const std::uint32_t extent : reach)
        blocks += extents_[extent].blocks();
    if (reach.empty() || !spend(sizeof(Step) + 4 * reach.size(), blocks))
        return;
    const std::uint64_t hash = hash_of(reach);
    const auto [first, last] = reach_numbers_.equal_range(hash);
    auto known = std::find_if(first, last, [&](const auto& entry) { return reaches_[entry.second] == reach; });
    if (known == last) {
        if (!spend(64 + 4 * reach.size()))
            return;
        reaches_.push_back(reach);
        known = reach_numbers_.emplace(hash, static_cast<std::uint32_t>(reaches_.size() - 1));
    }
    accesses_ += reach.size();
    ++launches_;
    add(time, StepKind::launch, known->second);
}

void Job::add(std::uint64_t time, StepKind kind, const Part& part) {
    if (part.extent == none || !spend(sizeof(Step) + sizeof(Part), part.bytes / block_bytes + 2))
        return;
    parts_.push_back(part);
    add(time, kind, parts_.size() - 1);
}

void Job::reached(std::uint32_t extent, std::uint64_t offset, std::uint64_t bytes) {
    if (extent == none || bytes == 0)
        return;
    Extent& of = extents_[extent];
    const std::uint64_t into = of.place % block_bytes + offset;
    const std::uint64_t end = std::min<std::uint64_t>((into + bytes - 1) / block_bytes + 1, of.reached.size());
    for (std::uint64_t block = into / block_bytes; block < end; ++block)
        of.reached[block] = true;
}

void Job::finish() {
    const auto earlier = [](const Step& left, const Step& right) { return left.time < right.time; };
    if (!std::is_sorted(steps_.begin(), steps_.end(), earlier))
        std::stable_sort(steps_.begin(), steps_.end(), earlier);
}

std::uint64_t Job::reach_bytes(const Step& step) const {
    std::uint64_t bytes = 0;
    for (const std::uint32_t number : reach(step)) {
        const Extent& extent = extents_[number];
        if (!parts_known)
            bytes += extent.bytes;
        else
            for (std::uint64_t block = 0; block < extent.blocks(); ++block)
                bytes += extent.reached[block] ? bytes_in_block(extent, block) : 0;
    }
    return bytes;
}

Job::Peak Job::peak() const {
    Peak peak;
    std::uint64_t all = 0, stays = 0;
    std::vector<std::uint64_t> of_reach(reaches_.size());
    for (const Step& step : steps_) {
        if (step.kind == StepKind::launch) {
            // The same each time: gone through once.
            if (std::uint64_t& bytes = of_reach[step.index]; bytes == 0)
                peak.launch = std::max(peak.launch, bytes = reach_bytes(step));
        } else if (step.kind == StepKind::begin || step.kind == StepKind::end) {
            const Extent& extent = extents_[step.index];
            const std::uint64_t change = step.kind == StepKind::begin ? extent.bytes : 0 - extent.bytes;
            all += change;
            stays += extent.moves ? 0 : change;
            peak.all = std::max(peak.all, all);
            peak.stays = std::max(peak.stays, stays);
        }
    }
    return peak;
}

} // namespace umadvisor::whatif

#include "analyzer/whatif/replay.hpp"

#include "analyzer/whatif/next_uses.hpp"
#include "policy/prefetch_plan.hpp"

#include <algorithm>

namespace umadvisor::whatif {
namespace {

using residency::Access;
using residency::block_bytes;

constexpr residency::Processor device = residency::device_processor(0);

class Replay {
public:
    Replay(const Job& job, Policy policy, std::uint64_t capacity, const residency::Prices& prices,
           const residency::Parameters& parameters)
        : job_(job),
          policy_(policy),
          capacity_(capacity),
          prices_(prices),
          space_(prices, parameters),
          fits_(job.peak().all <= capacity),
          settled_(job.extents().size()),
          last_use_(job.extents().size()) {
        if (policy == Policy::optimum)
            next_uses_ = next_uses(job);
        limit();
    }

    Moved run() {
        for (number_ = 0; number_ < job_.steps().size(); ++number_) {
            const Step& step = job_.steps()[number_];
            now_ = std::max(now_, static_cast<std::uint64_t>(step.time * job_.unit_ns));
            take(step);
        }
        const residency::Counters& counters = space_.counters();
        for (unsigned cause = 0; cause < residency::migration_causes; ++cause) {
            moved_.to_device += counters.bytes_to_device[cause];
            moved_.to_host += counters.bytes_to_host[cause];
        }
        moved_.evicted_blocks = counters.evicted_blocks;
        return moved_;
    }

private:
    void take(const Step& step) {
        switch (step.kind) {
        case StepKind::begin:
        case StepKind::end:
            return live(job_.extents()[step.index], step.kind == StepKind::begin);
        case StepKind::launch:
            return launch(job_.reach(step));
        default:
            break;
        }
        const Part& part = job_.part(step);
        settled_[part.extent] = false;
        const std::uint64_t at = job_.extents()[part.extent].place + part.offset;
        const residency::Processor who = part.device ? device : residency::host_processor;
        if (step.kind == StepKind::touch)
            spend(space_.touch(who, at, part.bytes, part.access, now_));
        else if (step.kind == StepKind::prefetch)
            spend(space_.prefetch(who, at, part.bytes, now_));
        else if (step.kind == StepKind::advise)
            space_.advise(part.advice, who, at, part.bytes, now_);
        else
            space_.discard(at, part.bytes);
    }

    void live(const Extent& extent, bool begins) {
        if (extent.moves) {
            begins ? space_.add_range(extent.place, extent.bytes) : space_.remove_range(extent.place);
        } else {
            staying_ += begins ? extent.bytes : 0 - extent.bytes;
            limit();
        }
    }
    void limit() { space_.set_capacity(device, capacity_ - std::min(capacity_, staying_)); }

    void launch(std::span<const std::uint32_t> reach) {
        const std::size_t first_use = accesses_;
        accesses_ += reach.size();
        if (std::all_of(reach.begin(), reach.end(), [&](std::uint32_t extent) { return settled_[extent]; }))
            return;
        if (policy_ == Policy::prefetch)
            prefetch(reach);
        std::uint64_t most = 0;
        next_.clear();
        for (std::size_t i = 0; i < reach.size(); ++i) {
            most = std::max(most, job_.extents()[reach[i]].blocks());
            if (policy_ == Policy::optimum)
                next_.push_back(find_use(reach[i], next_uses_[first_use + i]));
        }
        for (std::uint64_t block = 0; block < most; ++block)
            for (std::size_t i = 0; i < reach.size(); ++i)
                if (const Extent& extent = job_.extents()[reach[i]];
                    block < extent.blocks() && job_.reaches(extent, block))
                    use(extent, block, i);
        for (const std::uint32_t number : reach)
            settle(number);
    }

    struct NextUse {
        std::uint32_t step;
        std::uint32_t index; ///< among the extents of that launch
    };
    NextUse find_use(std::uint32_t extent, std::uint32_t step) const {
        if (step == never)
            return {never, 0};
        const auto reach = job_.reach(job_.steps()[step]);
        return {step,
                static_cast<std::uint32_t>(std::find(reach.begin(), reach.end(), extent) - reach.begin())};
    }

    /// A block of the extent that is the launch's i-th.
    void use(const Extent& extent, std::uint64_t block, std::size_t i) {
        const std::uint64_t base = (extent.place / block_bytes + block) * block_bytes;
        const std::uint64_t first = std::max(base, extent.place);
        const std::uint64_t bytes = bytes_in_block(extent, block);
        if (policy_ == Policy::optimum) {
            spend(space_.prefetch(device, first, bytes, now_));
            // The later the next use, the lower the rank; blocks that are never used again are evicted first.
            // Within a launch, blocks come in the order of launch().
            const std::uint64_t place = block << 8 | std::min<std::uint64_t>(next_[i].index, 255);
            space_.rank(first, bytes,
                        next_[i].step == never ? ++done_with_
                                               : UINT64_MAX - ((std::uint64_t{next_[i].step} << 32) + place));
        } else {
            // Whether it writes is unknown, and matters only for read-mostly memory.
            spend(space_.touch(device, first, bytes, Access::read, now_));
        }
    }

    /// As the shim does when it knows where everything is.
    void prefetch(std::span<const std::uint32_t> reach) {
        std::vector<std::uint64_t> addresses;
        for (const std::uint32_t number : reach) {
            addresses.push_back(job_.extents()[number].place);
            last_use_[number] = number_ + 1;
        }
        sequence_.add(addresses);
        std::vector<std::vector<policy::BlockState>> states;
        std::vector<policy::ResidencyView> views;
        for (const std::uint32_t number : reach)
            views.push_back(view(number, states.emplace_back(), [&](const residency::Block& block) {
                return !(block.valid & ~block.resident[device]).any();
            }));
        const std::uint64_t capacity = capacity_ - std::min(capacity_, staying_);
        std::uint64_t room = capacity - std::min(capacity, space_.resident_bytes(device));
        policy::PrefetchPlan plan;
        if (const std::uint64_t missing = policy::missing_bytes(views); missing > room) {
            make_room(reach, missing - room, plan);
            room += plan.bytes;
            move(plan, residency::host_processor);
        }
        policy::plan_prefetch(views, room, plan);
        move(plan, device);
    }

    /// Plans the eviction of extents that the launch does not reach.
    void make_room(std::span<const std::uint32_t> reach, std::uint64_t bytes, policy::PrefetchPlan& plan) {
        std::vector<std::vector<policy::BlockState>> states;
        std::vector<policy::Resident> residents;
        for (std::uint32_t number = 0; number < job_.extents().size(); ++number)
            if (last_use_[number] != 0 && std::find(reach.begin(), reach.end(), number) == reach.end() &&
                space_.find_block(job_.extents()[number].place) != nullptr)
                residents.push_back(
                    {view(number, states.emplace_back(),
                          [&](const residency::Block& block) { return block.resident[device].any(); }),
                     policy::LaunchSequence::unknown, last_use_[number]});
        policy::predict_next_uses(residents, sequence_);
        policy::plan_eviction(residents, bytes, plan);
    }

    /// `states` is to outlive the view.
    template <class IsThere>
    policy::ResidencyView view(std::uint32_t number, std::vector<policy::BlockState>& states,
                               IsThere&& is_there) {
        const Extent& extent = job_.extents()[number];
        states.assign(extent.blocks(), policy::BlockState::device);
        for (std::uint64_t i = 0; i < extent.blocks(); ++i) {
            const std::uint64_t at = std::max(extent.place, (extent.place / block_bytes + i) * block_bytes);
            const residency::Block* const block = space_.find_block(at);
            if (job_.reaches(extent, i) && block != nullptr && !is_there(*block))
                states[i] = policy::BlockState::host;
        }
        return {number + std::uint64_t{1}, extent.place, extent.bytes, states};
    }

    void move(const policy::PrefetchPlan& plan, residency::Processor to) {
        for (std::uint32_t i = 0; i < plan.count; ++i)
            spend(space_.prefetch(to, plan.ranges[i].address, plan.ranges[i].bytes, now_));
    }

    /// If nothing is ever evicted, what is on the device stays there until another step moves it.
    void settle(std::uint32_t number) {
        const Extent& extent = job_.extents()[number];
        settled_[number] =
            fits_ &&
            space_.count_resident(device, extent.place, extent.bytes) * residency::page_bytes == extent.bytes;
    }

    void spend(const residency::Cost& cost) {
        const std::uint64_t ns = cost.time + residency::transfer_time(cost.remote_bytes, prices_.remote_access);
        moved_.ns += ns;
        moved_.remote_bytes += cost.remote_bytes;
        now_ += ns;
    }

    const Job& job_;
    Policy policy_;
    std::uint64_t capacity_, staying_ = 0;
    residency::Prices prices_;
    residency::AddressSpace space_;
    bool fits_;
    std::vector<bool> settled_;            ///< by extent
    policy::LaunchSequence sequence_;      ///< of the shim's policy
    std::vector<std::uint64_t> last_use_;  ///< by extent; 0: not yet
    std::vector<std::uint32_t> next_uses_; ///< of the optimum
    std::vector<NextUse> next_;            ///< of the launch's extents
    std::size_t number_ = 0, accesses_ = 0;
    std::uint64_t now_ = 0, done_with_ = 0;
    Moved moved_;
};

} // namespace

Moved replay(const Job& job, Policy policy, std::uint64_t capacity, residency::Prices prices,
             const residency::Parameters& parameters) {
    if (policy == Policy::optimum) // a bound: only the bytes take time
        prices.prefetch_call = prices.prefetch_block = prices.prefetch_move = 0;
    return Replay(job, policy, capacity, prices, parameters).run();
}

} // namespace umadvisor::whatif

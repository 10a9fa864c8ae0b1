#include "policy/residency_map.hpp"

#include <algorithm>
#include <cstdlib>

namespace umadvisor::policy {

namespace {

constexpr unsigned first_due = 4;   ///< times that blocks were missing
constexpr unsigned most_misses = 3; ///< the driver may have evicted a block that was used
constexpr unsigned rest = 64;       ///< times that blocks were missing

} // namespace

bool UsageTrial::worth_bringing() noexcept {
    ++asked_;
    if (given_up_at_ != 0 && asked_ - given_up_at_ < rest)
        return false;
    if (given_up_at_ != 0) {
        given_up_at_ = misses_ = 0;
        next_ = asked_;
    }
    return true;
}

bool UsageTrial::just_given_up() noexcept {
    const bool just = given_up() && !reported_;
    reported_ = given_up();
    return just;
}

bool UsageTrial::due(bool crowded) const noexcept {
    const unsigned next = next_ != 0 ? next_ : first_due;
    return !under_way() && asked_ >= (crowded ? next / first_due : next);
}

void UsageTrial::begin(std::size_t block, std::uint64_t stream) noexcept {
    left_out_ = block + 1;
    stream_ = stream;
    looked_ = unused_ = false;
}

void UsageTrial::cancel(std::size_t from, std::size_t until) noexcept {
    if (covers(from, until))
        left_out_ = 0;
}

void UsageTrial::end(bool everything, std::uint64_t stream) noexcept {
    if (!under_way())
        return;
    if (everything || stream == stream_) {
        left_out_ = 0;
        if (looked_)
            judge();
        else // no look covered it, or the wait was for another stream: the trial showed nothing
            next_ = 2 * asked_;
    }
    looked_ = unused_ = false;
}

void UsageTrial::judge() noexcept {
    misses_ = unused_ ? misses_ + 1 : 0;
    next_ = unused_ ? asked_ + 1 : std::max(first_due, 4 * asked_);
    if (misses_ == most_misses)
        given_up_at_ = asked_;
}

void ResidencyMap::clear() noexcept {
    for (std::size_t i = 0; i < count_; ++i)
        std::free(known_[i].blocks);
    std::free(known_);
    known_ = nullptr;
    count_ = capacity_ = 0;
    synchronizations_ = 0;
    std::fill_n(device_bytes_, several_devices + 1, 0);
    blind_ = trials_ = false;
    crowded_.store(false, std::memory_order_relaxed);
}

bool ResidencyMap::untouched(std::uint64_t allocation, std::uint64_t host_faults) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr || known->faults != host_faults)
        return false;
    known->looked_at = synchronizations_;
    return true;
}

ResidencyMap::Part ResidencyMap::worth_a_look(std::uint64_t allocation, std::uint64_t host_faults) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr)
        return {};
    const std::uint64_t worth = (host_faults - known->faults) * looks_of_a_fault; // blocks
    known->looked_at = synchronizations_;
    known->asked_at = host_faults;
    known->found_is_old = true;
    // After looks that found nothing, most faults are of other memory.
    const std::uint64_t price = static_cast<std::uint64_t>(known->on_device) << known->idle_looks;
    if (worth < price)
        return worth >= blocks_of(known->found.first, known->found.last - known->found.first) ? known->found
                                                                                              : Part{};
    known->faults = host_faults;
    if (known->on_device == 0)
        return {};
    known->idle_looks =
        std::min<std::uint8_t>(known->idle_looks + 1, most_idle_looks); // until something is found
    return {known->address, known->address + known->bytes};
}

void ResidencyMap::found_on_host(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept {
    if (Known* const known = find(allocation)) {
        known->faults = known->asked_at;
        known->found = known->found_is_old
                           ? Part{first, last}
                           : Part{std::min(known->found.first, first), std::max(known->found.last, last)};
        known->found_is_old = false;
        known->idle_looks = 0;
    }
    moved(allocation, first, last, BlockState::host);
}

bool ResidencyMap::on_trial(std::uint64_t allocation) const noexcept {
    const Known* const known = find(allocation);
    return known != nullptr && known->trial.under_way();
}

std::uint64_t ResidencyMap::tried_block(std::uint64_t allocation) const noexcept {
    const Known* const known = find(allocation);
    return known != nullptr && known->trial.under_way()
               ? (known->address / block_bytes + known->trial.block()) * block_bytes
               : 0;
}

ResidencyMap::Known* ResidencyMap::find(std::uint64_t allocation) const noexcept {
    Known* const at =
        std::lower_bound(known_, known_ + count_, allocation,
                         [](const Known& known, std::uint64_t id) { return known.allocation < id; });
    return at != known_ + count_ && at->allocation == allocation ? at : nullptr;
}

bool ResidencyMap::see(std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes,
                       ResidencyView& out) noexcept {
    Known* known = find(allocation);
    if (known == nullptr) {
        if (count_ == capacity_) {
            const std::size_t capacity = capacity_ == 0 ? 64 : 2 * capacity_;
            auto* const larger = static_cast<Known*>(std::realloc(known_, capacity * sizeof(Known)));
            if (larger == nullptr)
                return false;
            known_ = larger;
            capacity_ = capacity;
        }
        const std::size_t count = blocks_of(address, bytes);
        auto* const blocks = static_cast<BlockState*>(std::calloc(count + 1, sizeof(BlockState)));
        if (blocks == nullptr)
            return false;
        std::size_t at = count_++;
        for (; at > 0 && known_[at - 1].allocation > allocation; --at)
            known_[at] = known_[at - 1];
        known = &known_[at];
        *known = {};
        known->allocation = allocation;
        known->address = address;
        known->bytes = bytes;
        known->device = no_device;
        known->blocks = blocks;
        known->count = known->missing = count;
        known->looked_at = synchronizations_;
    }
    if (doubtful(*known)) {
        for (std::size_t i = 0; i < known->count; ++i)
            if (known->blocks[i] == BlockState::device)
                set(*known, i, BlockState::unknown);
        known->looked_at = synchronizations_;
    }
    out = {known->allocation, known->address, known->bytes, {known->blocks, known->count}};
    return true;
}

ResidencyMap::Users ResidencyMap::note_user(std::uint64_t allocation, std::uint32_t device) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr || device >= max_devices)
        return Users::several;
    if (known->device == no_device)
        known->device = device;
    if (known->device == device)
        return Users::this_device;
    if (known->device == several_devices)
        return known->advised ? Users::several_advised : Users::several;
    known->advised = std::find(known->blocks, known->blocks + known->count, BlockState::left_alone) !=
                     known->blocks + known->count;
    for (std::size_t i = 0; i < known->count; ++i)
        set(*known, i, BlockState::left_alone);
    known->device = several_devices;
    return known->advised ? Users::several_advised : Users::several_since_now;
}

bool ResidencyMap::resident(std::uint64_t allocation, std::uint32_t device) const noexcept {
    const Known* const known = find(allocation);
    return known != nullptr && known->missing == 0 && !doubtful(*known) &&
           (known->device == device || known->device == several_devices);
}

std::uint64_t ResidencyMap::bytes_of(const Known& known, std::size_t block) noexcept {
    const std::uint64_t base = (known.address / block_bytes + block) * block_bytes;
    return std::min(base + block_bytes, known.address + known.bytes) - std::max(base, known.address);
}

void ResidencyMap::set(Known& known, std::size_t block, BlockState state) noexcept {
    const BlockState before = known.blocks[block];
    if (before == state)
        return;
    known.missing += is_missing(state);
    known.missing -= is_missing(before);
    if (state == BlockState::device) {
        ++known.on_device;
        device_bytes_[known.device] += bytes_of(known, block);
    }
    if (before == BlockState::device) {
        --known.on_device;
        device_bytes_[known.device] -= bytes_of(known, block);
        ++epoch_;
    }
    known.blocks[block] = state;
}

ResidencyMap::Overlap ResidencyMap::overlap(const Known& known, std::uint64_t first,
                                            std::uint64_t last) noexcept {
    first = std::max(first, known.address);
    last = std::min(last, known.address + known.bytes);
    if (first >= last)
        return {0, 0};
    const std::uint64_t base = known.address / block_bytes;
    return {first / block_bytes - base, (last - 1) / block_bytes - base + 1};
}

bool ResidencyMap::on_host(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) const noexcept {
    const Known* const known = find(allocation);
    if (known == nullptr)
        return false;
    const Overlap blocks = overlap(*known, first, last);
    return std::all_of(known->blocks + blocks.from, known->blocks + blocks.until, [](BlockState state) {
        return state == BlockState::host || state == BlockState::left_alone;
    });
}

void ResidencyMap::launched(std::uint64_t allocation, std::uint64_t capacity) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr)
        return;
    known->last_use = ++launches_;
    if (known->missing == 0 || known->trial.given_up() || known->device >= max_devices)
        return;
    for (std::size_t i = 0; i < known->count && device_bytes(known->device) + bytes_of(*known, i) <= capacity;
         ++i)
        if (is_missing(known->blocks[i]))
            set(*known, i, BlockState::device);
}

bool ResidencyMap::worth_bringing(std::uint64_t allocation, std::uint64_t stream) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr || !known->trial.worth_bringing())
        return false;
    // Unless the device is full, a trial needs many missing blocks: the faults of one take as long as to
    // prefetch several.
    if (blind_ || !known->trial.due(crowded()) || (!crowded() && known->missing < least_tried))
        return true;
    // Each trial begins its search at another block.
    for (std::size_t i = 0, at = synchronizations_ * 7 % known->count; i < known->count;
         ++i, at = (at + 1) % known->count)
        if (known->blocks[at] == BlockState::host) {
            set(*known, at, BlockState::device);
            known->trial.begin(at, stream);
            trials_ = true;
            break;
        }
    return true;
}

bool ResidencyMap::just_given_up(std::uint64_t allocation) noexcept {
    Known* const known = find(allocation);
    return known != nullptr && known->trial.just_given_up();
}

void ResidencyMap::evicted(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr)
        return;
    const Overlap blocks = overlap(*known, first, last);
    for (std::size_t i = blocks.from; i < blocks.until; ++i)
        if (known->blocks[i] == BlockState::device)
            set(*known, i, BlockState::host);
    known->trial.cancel(blocks.from, blocks.until);
}

void ResidencyMap::moved(std::uint64_t allocation, std::uint64_t first, std::uint64_t last,
                         BlockState to) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr)
        return;
    const Overlap blocks = overlap(*known, first, last);
    if (to == BlockState::host)
        known->trial.on_host(blocks.from, blocks.until);
    for (std::size_t i = blocks.from; i < blocks.until; ++i) {
        if (known->blocks[i] == BlockState::left_alone)
            continue;
        if (to == BlockState::host && known->blocks[i] == BlockState::device)
            known->bounces = bounce_memory;
        set(*known, i, to);
    }
}

void ResidencyMap::leave_alone(std::uint64_t allocation, std::uint64_t first, std::uint64_t last,
                               bool alone) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr)
        return;
    const Overlap blocks = overlap(*known, first, last);
    for (std::size_t i = blocks.from; i < blocks.until; ++i)
        set(*known, i, alone ? BlockState::left_alone : BlockState::unknown);
}

void ResidencyMap::synchronized(bool seen, bool everything, std::uint64_t stream) noexcept {
    for (std::size_t i = 0, end = trials_ ? count_ : 0; i < end; ++i)
        known_[i].trial.end(everything, stream);
    trials_ = trials_ &&
              std::any_of(known_, known_ + count_, [](const Known& known) { return known.trial.under_way(); });
    ++synchronizations_;
    ++epoch_;
    blind_ = !seen;
}

void ResidencyMap::looking(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr)
        return;
    known->looked_at = synchronizations_;
    known->trial.look();
    known->bounces -= known->bounces != 0;
    const Overlap blocks = overlap(*known, first, last);
    for (std::size_t i = blocks.from; i < blocks.until; ++i) {
        const std::uint64_t block = (known->address / block_bytes + i) * block_bytes;
        const std::uint64_t from = std::max(block, known->address);
        const std::uint64_t until = std::min(block + block_bytes, known->address + known->bytes);
        if (known->blocks[i] == BlockState::host && first <= from && until <= last)
            set(*known, i, BlockState::unknown);
    }
}

void ResidencyMap::forget(std::uint64_t allocation) noexcept {
    Known* const known = find(allocation);
    if (known == nullptr)
        return;
    for (std::size_t i = 0; i < known->count; ++i)
        set(*known, i, BlockState::unknown);
    std::free(known->blocks);
    std::move(known + 1, known_ + count_, known);
    --count_;
}

} // namespace umadvisor::policy

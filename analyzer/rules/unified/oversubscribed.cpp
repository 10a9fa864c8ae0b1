/// More managed memory than the device holds: the driver evicts what is needed again.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t tile_bytes = 2 << 20; ///< the driver evicts, and fetches again, at least this much

/// The peak of allocated bytes, compared with the device's memory.
std::string working_set(const Profile& profile) {
    std::uint64_t held = 0, capacity = 0;
    for (const auto& [site, totals] : profile.allocations().sites())
        if (site.memory == trace::Memory::managed || site.memory == trace::Memory::device)
            reader::add_saturated(held, totals.peak_bytes);
    for (const trace::Device& device : profile.dictionary().devices)
        capacity = std::max(capacity, device.memory_bytes);
    if (capacity == 0)
        return {};
    return fmt::format("the program held up to {} of managed and device memory; the device has {}",
                       bytes_text(held), bytes_text(capacity));
}

Advice advise_oversubscribed(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const managed::MovedBytes back{habit.bytes_to_device(), 0};
    const double faults_ns = habit.by_faults(back, back.to_device / tile_bytes);
    Advice advice;
    advice.text = fmt::format("process it in pieces that fit: finish one before the next, and bring each with "
                              "{} before its launch; or keep the most used part on the device: {}",
                              prefetch_name(memory), advise_device(memory, "SetPreferredLocation"));
    advice.spared.device_ns = std::max(0.0, faults_ns - habit.by_prefetch(back, back.to_device / tile_bytes));
    advice.basis = fmt::format("the bytes that were evicted and migrated again, by page faults instead of by "
                               "prefetch, {}; an order that needs each piece once saves all of about {}",
                               habit.prices(), time_text(faults_ns));
    advice.confidence = std::min(habit.confidence(), Confidence::medium);
    if (std::string text = working_set(memory.profile); !text.empty())
        advice.details.push_back(std::move(text));
    advice.evidence = {{"bytes_to_device", static_cast<double>(back.to_device)}};
    return advice;
}

} // namespace

const ManagedRule oversubscribed{&uma_209, managed::VerdictKind::oversubscribed, Lead::launch,
                                 "the host uses it here", &advise_oversubscribed};

constinit const Rule uma_209{.id = "UMA-209",
                             .name = "oversubscribed",
                             .title = "managed memory does not fit on the device",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

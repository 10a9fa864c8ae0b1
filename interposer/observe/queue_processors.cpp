#include "interposer/observe/queue_processors.hpp"

#include "interposer/attach/real.hpp"

#include <algorithm>

namespace umadvisor::observe {

using attach::Entry;
using attach::real;

void QueueDevices::look() noexcept {
    if (real<Entry::cuDeviceGetCount>()(&count) != CUDA_SUCCESS || count < 2)
        count = 0;
    count = std::min(count, static_cast<int>(most_processors));
    for (int ordinal = 0; ordinal < count; ++ordinal)
        if (real<Entry::cuDeviceGetUuid_v2>()(&uuids[ordinal], ordinal) != CUDA_SUCCESS)
            uuids[ordinal] = {};
}

void QueueProcessors::learn(const QueueDevices& devices, const ToolsTracker& tracker) noexcept {
    for (std::size_t i = 0; i < of_.size(); ++i)
        of_[i] = static_cast<std::uint8_t>(i);
    for (int ordinal = 0; ordinal < devices.count; ++ordinal)
        if (const std::uint32_t number = tracker.processor(&devices.uuids[ordinal]);
            number != 0 && number < most_processors)
            of_[number] = static_cast<std::uint8_t>(ordinal + 1);
}

} // namespace umadvisor::observe

#include "analyzer/rules/machine_prices.hpp"

#include <algorithm>

namespace umadvisor::rules {

bool knows_prices(const Profile& profile) {
    return std::ranges::all_of(profile.dictionary().devices, [&profile](const trace::Device& device) {
        return machine::are_known(profile.rates(), device, profile.memory_mode(device));
    });
}

bool is_one_pool(const Profile& profile) {
    const auto& devices = profile.dictionary().devices;
    return !devices.empty() && std::ranges::all_of(devices, [&profile](const trace::Device& device) {
        return profile.memory_mode(device) == machine::MemoryMode::one_pool;
    });
}

} // namespace umadvisor::rules

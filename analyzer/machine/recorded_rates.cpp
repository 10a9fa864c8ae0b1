#include "analyzer/machine/recorded_rates.hpp"

namespace umadvisor::machine {

Rates recorded_rates(const reader::Dictionary& dictionary) {
    if (dictionary.devices.empty())
        return {};
    const auto& records = dictionary.machine_rates;
    for (auto record = records.rbegin(); record != records.rend(); ++record)
        if (std::optional<Rates> rates = rates_in(record->rates);
            rates && rates->device == dictionary.devices.front().device_name)
            return *std::move(rates);
    return {};
}

bool tell_of_host(const Rates& rates, const reader::Dictionary& dictionary) {
    return !rates.device.empty() || dictionary.is_simulated();
}

} // namespace umadvisor::machine

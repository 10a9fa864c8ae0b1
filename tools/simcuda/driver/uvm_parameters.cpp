// The unified-memory module's parameters, as /sys/module/nvidia_uvm/parameters tells them: what the model goes
// by.
#include "tools/simcuda/driver/driver.hpp"

#include <cstring>

using namespace simcuda;

extern "C" int simcuda_uvm_parameter(const char* name, unsigned* value) {
    const residency::Parameters& model = driver().config.parameters;
    const residency::ThrashingParameters& thrashing = model.thrashing;
    // The module's times but the lapse are multiples of the lapse (uvm_perf_thrashing.c).
    const auto lapses = [&](Nanoseconds time) { return static_cast<unsigned>(time / thrashing.lapse); };
    const struct {
        const char* name;
        unsigned value;
    } parameters[] = {
        {"uvm_perf_prefetch_enable", model.driver_prefetch},
        {"uvm_perf_prefetch_threshold", model.prefetch_threshold_percent},
        {"uvm_perf_prefetch_min_faults", 1},
        {"uvm_perf_thrashing_enable", thrashing.enabled},
        {"uvm_perf_thrashing_threshold", thrashing.threshold},
        {"uvm_perf_thrashing_pin_threshold", thrashing.pin_threshold},
        {"uvm_perf_thrashing_lapse_usec", static_cast<unsigned>(thrashing.lapse / 1000)},
        {"uvm_perf_thrashing_nap", lapses(thrashing.nap)},
        {"uvm_perf_thrashing_epoch", lapses(thrashing.epoch)},
        {"uvm_perf_thrashing_pin", lapses(thrashing.pin)},
        {"uvm_perf_thrashing_max_resets", 4},
    };
    for (const auto& parameter : parameters) {
        if (std::strcmp(parameter.name, name) == 0) {
            *value = parameter.value;
            return 0;
        }
    }
    return -1;
}

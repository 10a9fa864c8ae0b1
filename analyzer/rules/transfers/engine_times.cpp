#include "analyzer/rules/transfers/engine_times.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

using trace::Memory;

bool is_pageable(const WorkAction& action) {
    return action.source == Memory::pageable || action.destination == Memory::pageable;
}

double by_rate(const Profile& profile, const WorkAction& action) {
    if (action.engine == Engine::compute)
        return fixed_ns + static_cast<double>(action.bytes) / profile.rates().device_to_device * 1e9;
    // Synchronous downloads may have waited for kernels: they do not show the link's rate.
    const tables::LinkRate link = profile.copies().link(facts::Direction::HtoD);
    const double rate = link.bytes != 0 ? link.bytes_per_second() : profile.rates().pinned_to_device;
    return fixed_ns + static_cast<double>(action.bytes) / rate * 1e9;
}

double kernel_ns(const WorkAction& action) {
    const tables::LaunchTotals& totals = action.kernel->second;
    return totals.measured != 0 ? totals.usual_ns() : -1;
}

double copy_ns(const Profile& profile, const Work& work, double kernels_ns) {
    const WorkAction& action = *work.action;
    const double nominal = by_rate(profile, action);
    if (action.engine == Engine::compute || is_pageable(action))
        return nominal;
    if (work.time->measured != 0)
        return static_cast<double>(work.time->measured_ns) / static_cast<double>(work.time->measured);
    if (action.asynchronous)
        return nominal;
    const double call_ns =
        static_cast<double>(profile.nanoseconds(work.time->ticks)) / static_cast<double>(work.time->count);
    const double waited = action.engine == Engine::to_host ? kernels_ns : 0;
    return std::max(call_ns - waited, nominal / 2);
}

} // namespace

Machine machine_of(const Profile& profile) {
    Machine machine{.call_ns = profile.rates().launch_call_ns,
                    .handover_ns = 3000,
                    .duplex = profile.rates().both_ways_ratio,
                    .one_copy_engine = false};
    for (const trace::Device& device : profile.dictionary().devices)
        machine.one_copy_engine |= device.copy_engines == 1;
    return machine;
}

EngineTimes engine_times(const Profile& profile, const WorkPattern& pattern) {
    EngineTimes times;
    double kernels_ns = 0;
    for (const Work& work : pattern.work) {
        double ns = 0;
        if (work.action->is_kernel()) {
            ns = kernel_ns(*work.action);
            if (ns < 0)
                return {};
            kernels_ns += ns;
        } else {
            ns = copy_ns(profile, work, kernels_ns);
            times.pageable |= is_pageable(*work.action);
            kernels_ns = 0;
        }
        times.ns.push_back(ns);
    }
    return times;
}

} // namespace umadvisor::rules

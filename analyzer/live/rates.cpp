#include "analyzer/live/rates.hpp"

namespace umadvisor::live {
namespace {

double growth(std::uint64_t before, std::uint64_t after) {
    return after > before ? static_cast<double>(after - before) : 0;
}

} // namespace

Rates rates_between(const Counters& before, const Counters& after) {
    Rates rates;
    rates.seconds = growth(before.monotonic_ns, after.monotonic_ns) / 1e9;
    if (rates.seconds == 0)
        return rates;
    const auto rate = [&](std::uint64_t Counters::*counter) {
        return growth(before.*counter, after.*counter) / rates.seconds;
    };
    double bytes = 0, pageable = 0;
    for (std::size_t kind = 0; kind < rates.bytes.size(); ++kind) {
        const CopyCounts &then = before.copies[kind], &now = after.copies[kind];
        rates.bytes[kind] = growth(then.bytes, now.bytes) / rates.seconds;
        bytes += growth(then.bytes, now.bytes);
        pageable += growth(then.pageable_bytes, now.pageable_bytes);
    }
    if (bytes != 0)
        rates.pageable_share = pageable / bytes;
    rates.to_device_bytes = rate(&Counters::to_device_bytes);
    rates.to_host_bytes = rate(&Counters::to_host_bytes);
    rates.faults = rate(&Counters::device_faults) + rate(&Counters::host_faults);
    rates.thrashing = rate(&Counters::thrashing);
    rates.wait_share = rate(&Counters::wait_ns) / 1e9;
    rates.launches = rate(&Counters::launches) + rate(&Counters::graph_launches);
    rates.act_actions = rate(&Counters::act_actions);
    rates.act_bytes = rate(&Counters::act_bytes);
    return rates;
}

} // namespace umadvisor::live

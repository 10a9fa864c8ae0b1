#include "analyzer/cli/live/top_json.hpp"

namespace umadvisor::cli {

using nlohmann::ordered_json;

ordered_json top_json(const live::Watched& process, const std::optional<std::vector<live::HeldLine>>& lines) {
    const live::Rates& rates = *process.rates;
    const live::Counters& counters = *process.counters;
    ordered_json one;
    one["pid"] = process.process().pid != 0 ? process.process().pid : process.process().inner_pid;
    one["program"] = process.process().name;
    one["mode"] = process.status.mode;
    one["recording"] = process.status.recording;
    one["file"] = process.status.file;
    one["interval_s"] = rates.seconds;
    ordered_json& speed = one["per_second"];
    for (std::size_t kind = 0; kind < rates.bytes.size(); ++kind)
        speed[std::string(live::copy_kinds[kind]) + "_bytes"] = rates.bytes[kind];
    speed["managed_to_device_bytes"] = rates.to_device_bytes;
    speed["managed_to_host_bytes"] = rates.to_host_bytes;
    speed["faults"] = rates.faults;
    speed["thrashing"] = rates.thrashing;
    speed["launches"] = rates.launches;
    speed["act_actions"] = rates.act_actions;
    speed["act_bytes"] = rates.act_bytes;
    one["wait_share"] = rates.wait_share;
    one["pageable_share"] = rates.pageable_share ? ordered_json(*rates.pageable_share) : ordered_json();
    one["memory"] = {{"device_bytes", counters.device_bytes},
                     {"managed_bytes", counters.managed_bytes},
                     {"pinned_bytes", counters.pinned_bytes},
                     {"allocations", counters.allocations},
                     {"refused", counters.refused},
                     {"kept_device_bytes", process.status.kept_device_bytes},
                     {"kept_pinned_bytes", process.status.kept_pinned_bytes}};
    one["lines"] = lines ? ordered_json::array() : ordered_json();
    if (lines)
        for (const live::HeldLine& line : *lines)
            one["lines"].push_back({{"line", line.place},
                                    {"memory", line.memory},
                                    {"bytes", line.bytes},
                                    {"allocations", line.allocations}});
    return one;
}

} // namespace umadvisor::cli

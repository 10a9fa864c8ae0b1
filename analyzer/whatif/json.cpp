#include "analyzer/whatif/outlook.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::whatif {
namespace {

using Json = nlohmann::ordered_json;

/// Null where the link was not measured.
template <class Value>
Json if_timed(const Outlook& outlook, const Value& value) {
    return outlook.unmeasured.empty() ? Json(value) : Json();
}

Json policy_json(const Outlook& outlook, const std::optional<Moved>& moved) {
    if (!moved)
        return nullptr;
    return {{"to_device_bytes", moved->to_device},       {"to_host_bytes", moved->to_host},
            {"evicted_blocks", moved->evicted_blocks},   {"remote_bytes", moved->remote_bytes},
            {"moving_ns", if_timed(outlook, moved->ns)}, {"job_ns", if_timed(outlook, outlook.job_ns(*moved))}};
}

} // namespace

Json to_json(const Outlook& outlook) {
    const auto& recorded = outlook.recorded_moved;
    const auto& modelled = outlook.modelled;
    return {
        {"schema", "umadvisor-whatif-1"},
        {"program", outlook.program},
        {"recorded",
         {{"device", outlook.device},
          {"devices", outlook.devices},
          {"memory_bytes", outlook.recorded_memory},
          {"duration_ns", outlook.recorded_ns},
          {"to_device_bytes", recorded ? Json(recorded->to_device) : Json()},
          {"to_host_bytes", recorded ? Json(recorded->to_host) : Json()},
          {"modelled_to_device_bytes", modelled ? Json(modelled->to_device) : Json()},
          {"modelled_to_host_bytes", modelled ? Json(modelled->to_host) : Json()},
          {"moving_ns", if_timed(outlook, outlook.modelled_moving_ns())},
          {"act", outlook.recorded_act}}},
        {"memory_bytes", outlook.capacity},
        {"act", outlook.act},
        {"starts", outlook.starts()},
        {"fits", outlook.fits()},
        {"live_bytes", outlook.peak.all},
        {"device_bytes", outlook.peak.stays},
        {"launch_bytes", outlook.peak.launch},
        {"launches", outlook.launches},
        {"policies",
         {{"on_demand", policy_json(outlook, outlook.on_demand)},
          {"act", policy_json(outlook, outlook.acted)},
          {"optimum", policy_json(outlook, outlook.optimum)}}},
        {"basis",
         {{"rates_of", if_timed(outlook, outlook.rates_of)},
          {"to_device_bytes_per_s", if_timed(outlook, outlook.prices.migrate_to_device)},
          {"to_host_bytes_per_s", if_timed(outlook, outlook.prices.migrate_to_host)},
          {"block_fault_ns", if_timed(outlook, outlook.prices.device_fault_group)},
          {"prefetch_move_ns", if_timed(outlook, outlook.prices.prefetch_move)},
          {"parts_told", outlook.parts_known},
          {"host_told", !outlook.unknowns.host_blind},
          {"launches_not_scanned", outlook.unknowns.unscanned},
          {"events_left_out", outlook.unknowns.faults},
          {"steps_left_out", outlook.left_out}}},
    };
}

} // namespace umadvisor::whatif

/// Calibration of devices for which neither a trace nor this machine has prices yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::cli {

/// An option of `umadvisor calibrate` with the name of a device: it measures that device, unless another
/// process has done so in the meantime.
inline constexpr std::string_view unknown_device_flag = "--unknown-device";

/// Calibrates the first device of each trace in `paths` that has calls in it, unless the trace has the prices
/// of that device or usual_rates() knows them. This is done in a child process, so a driver that crashes or
/// hangs costs 30 s at most and does not harm this process. Returns a line for each device, which says what was
/// done or why it was not done.
std::vector<std::string> calibrate_unknown_devices(const std::vector<std::string>& paths);

} // namespace umadvisor::cli

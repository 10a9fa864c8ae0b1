/// Prices of devices that no report has any of yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::cli {

/// Passed to `umadvisor calibrate`: the device of this name is measured, unless another process has done so
/// meanwhile.
inline constexpr std::string_view unknown_device_flag = "--unknown-device";

/// Calibrates the devices that the traces at `paths` have records of and usual_rates() does not know. A child
/// process does it: a driver that crashes or hangs takes no more than 30 s, and nothing else. Returns a line
/// for each device: what was done, or why not.
std::vector<std::string> calibrate_unknown_devices(const std::vector<std::string>& paths);

} // namespace umadvisor::cli

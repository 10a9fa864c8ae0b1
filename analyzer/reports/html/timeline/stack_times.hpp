/// Where the time of a host thread goes, by the call that it is in.
#pragma once

#include "analyzer/reports/html/rows.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::html {

/// Where the time of a host thread goes. In the order in which the page shows it.
enum class Cause : std::uint8_t { code, host_faults, device_faults, kernels, copies, allocation, calls, start };
inline constexpr std::size_t causes = 8;

/// Nanoseconds by cause. Memory: one entry for each name of the timeline.
class StackTimes {
public:
    using ByCode = std::map<std::uint64_t, double>; ///< by frame; 0: the line is unknown

    void add(Cause cause, std::uint32_t name, double ns) {
        if (ns <= 0)
            return;
        if (name >= by_name_.size())
            by_name_.resize(name + 1);
        by_name_[name][static_cast<std::size_t>(cause)] += ns;
    }
    /// `row` has page faults in place of what calls and code took. `host`: how long the thread's own faults
    /// took, by the code that faulted.
    void take_faults(const PieceRow& row, const ByCode& host);

    const std::vector<std::array<double, causes>>& by_name() const { return by_name_; } ///< name 0: no call
    const ByCode& host_faults() const { return host_faults_; }                          ///< of name 0

private:
    std::vector<std::array<double, causes>> by_name_;
    ByCode host_faults_;
};

} // namespace umadvisor::html

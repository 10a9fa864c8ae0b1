/// Managed memory by the source lines that allocated it, as both reports show it.
#pragma once

#include "analyzer/advice/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::reports {

struct ManagedKernelLine {
    std::uint64_t function = 0;
    ids::StackId stack{}; ///< stack: of one launch from that line
    double share = 0; ///< of what was pulled to the device, in bytes; in faults where no bytes were recorded
    double bytes = 0, faults = 0; ///< with what was not recorded
    bool candidates = false;      ///< in part shared with others that ran at the same time
};

struct ManagedHostLine {
    ids::StackId code{}; ///< of the innermost frame alone, where it is known
    std::uint64_t faults = 0;
    double bytes = 0; ///< with what was not recorded
};

struct ManagedPrefetchLine {
    ids::StackId stack{};
    std::uint64_t entry = 0; ///< 0: no such call is known
    bool by_umadvisor = false;
    double bytes_to_device = 0, bytes_to_host = 0;
};

/// One line that allocates managed memory to which something happened.
struct ManagedLine {
    ids::AllocationSite site; ///< its stack stands for all with that line
    std::uint64_t allocations = 0, allocated_bytes = 0;
    managed::ManagedSiteActivity activity;
    managed::MovedBytes moved;
    managed::MovedBasis basis{};
    std::uint64_t between_devices = 0; ///< bytes, at the least
    std::optional<std::uint64_t> host_faults, device_faults;
    std::vector<ManagedKernelLine> kernels; ///< those that pulled most first; as are the others
    std::vector<ManagedKernelLine> evictors;
    std::vector<ManagedHostLine> host_lines;
    std::vector<ManagedPrefetchLine> prefetches;
};

/// Those with the most bytes first.
std::vector<ManagedLine> managed_lines(advice::Report& report);

/// "queue", as the JSON report has it.
std::string_view managed_source_name(trace::ManagedSourceKind source);
/// What the figures stand on and what that source cannot see, in a sentence.
std::string managed_source_text(const advice::Report& report);
/// The source in use; `none` where the trace names none.
trace::ManagedSource managed_source(const advice::Report& report);

} // namespace umadvisor::reports

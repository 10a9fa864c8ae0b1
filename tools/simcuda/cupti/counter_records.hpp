#pragma once

#include "residency/cupti_interface.hpp"
#include "residency/tools_interface.hpp"

#include <map>
#include <optional>

namespace simcuda {

namespace cupti = umadvisor::residency::cupti;
namespace tools = umadvisor::residency::tools;

/// Makes CUPTI's records of what the unified-memory module tells, as CUPTI does. Times stay simcuda's. Not
/// thread-safe.
class CounterRecords {
public:
    /// The types of entry that records are made of.
    static std::uint64_t wanted_events();

    /// Nothing where an entry is the first half of a record, or no part of any.
    std::optional<cupti::CounterRecord> take(const tools::Entry& entry);

private:
    std::map<std::uint16_t, std::uint64_t> throttled_since_; ///< by processor
};

} // namespace simcuda

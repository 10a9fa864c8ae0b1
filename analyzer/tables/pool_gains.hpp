/// The gain of a raised release threshold: allocations from the pool before it against those after it.
#pragma once

#include "analyzer/tables/call_gains.hpp"

#include <map>
#include <optional>
#include <vector>

namespace umadvisor::tables {

/// The waits that give a pool's memory back wait for the device too, so what they gain is not counted: the
/// gain is at least this.
///
/// Memory: 64 numbers for each call site that allocates in the order of a stream.
class PoolGains {
public:
    /// A threshold that --act pools has set.
    void add(const trace::Pool& record);
    /// In the order of a stream.
    void add(const trace::Alloc& record);

    /// By the call at which the first threshold was raised, if the gain is known: what was allocated from other
    /// pools after that counts as gained by it, or lost.
    std::map<ActionSite, CallGains::Gain> gains() const;

private:
    struct Calls {
        std::vector<double> before; ///< ticks of the first allocations, until a threshold was raised
        std::uint64_t after = 0;
        double ticks = 0; ///< of those after it
    };

    std::optional<ActionSite> raised_;
    std::map<ids::StackId, Calls> sites_;
};

} // namespace umadvisor::tables

/// The gain of calls that an action answers in the driver's stead: the driver's time for calls of the same site
/// is compared with theirs.
#pragma once

#include "analyzer/ids/call_site.hpp"
#include "analyzer/tables/actions.hpp"
#include "trace/values.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::tables {

/// Memory: 64 numbers for each call site that allocates, frees, copies, prefetches or advises.
class CallGains {
public:
    struct Gain {
        double ticks = 0; ///< below zero: the program was slower with it
        std::uint64_t with = 0, without = 0;
        bool alike = false;
    };

    /// Counts one call that succeeded. A call of umadvisor's own counts against the action that it was made
    /// for.
    template <class Record>
    void add(const Record& record, ActionKind kind, trace::Origin origin) {
        if (record.status == 0)
            add(ids::StackId::of(record), Record::type, kind, origin, record.duration);
    }

    /// The actions of which a gain is known.
    std::map<ActionSite, Gain> gains() const;

private:
    struct Calls {
        std::vector<double> driver; ///< ticks of the first that the driver answered
        std::uint64_t by_driver = 0;
        ActionKind kind = ActionKind::other;
        std::uint64_t count = 0; ///< that the action answered
        double ticks = 0;        ///< of these, and of its own calls
    };
    void add(ids::StackId stack, trace::Type type, ActionKind kind, trace::Origin origin, std::uint64_t ticks);

    std::map<std::pair<ids::StackId, trace::Type>, Calls> sites_;
};

} // namespace umadvisor::tables

/// Totals that learn what the clock finds of each call that they count.
#pragma once

#include "analyzer/facts/call.hpp"

namespace umadvisor::tables {

class SettledTotals : public facts::CallNote {
public:
    /// The work of `call` took `device_ns` on the device, and the call itself `own_ns` without its wait for
    /// earlier work.
    virtual void settle(const facts::Call& call, double device_ns, double own_ns) = 0;

protected:
    ~SettledTotals() = default;
};

} // namespace umadvisor::tables

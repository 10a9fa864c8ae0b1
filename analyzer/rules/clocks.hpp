/// When what is read happened. A header of its own: those who read a profile have no use for it.
#pragma once

#include "analyzer/facts/calls.hpp"
#include "analyzer/facts/device_work.hpp"
#include "analyzer/facts/host_times.hpp"
#include "analyzer/rules/profile.hpp"
#include "analyzer/tables/named_ranges.hpp"
#include "analyzer/tables/settled_totals.hpp"
#include "analyzer/timeline/clock.hpp"

#include <cstdint>

namespace umadvisor::rules {

struct Profile::Clocks {
    Clocks(const reader::Trace& trace, const machine::Rates& rates, tables::NamedRanges& ranges)
        : facts(trace, rates),
          clock([this, &ranges](const timeline::Settled& settled) {
              host_times.settle(settled.call, settled.waited_ns);
              device_work.settle(settled.call, settled.device_ns);
              if (settled.call.range != 0)
                  ranges.settle(settled.call, settled.waited_ns);
              if (settled.call.note != nullptr)
                  static_cast<tables::SettledTotals*>(settled.call.note)
                      ->settle(settled.call, settled.device_ns, settled.own_ns());
          }),
          predicted({}, {}, true) {}

    void add(const facts::Call& call) {
        clock.add(call);
        predicted.add(call);
    }
    void measured(std::uint64_t sample, double ns) {
        clock.measured(sample, ns);
        predicted.measured(sample, ns);
    }
    /// Returns how well they keep time. Call once, after the last. `run_end`: nanoseconds since the trace
    /// began.
    timeline::Accuracy finish(double run_end) {
        clock.finish();
        predicted.finish();
        device_work.finish(run_end);
        return predicted.accuracy();
    }

    facts::Calls facts;
    facts::HostTimes host_times;
    facts::DeviceWork device_work;
    timeline::Clock clock;
    timeline::Clock predicted; ///< the same, of which every second wait is hidden
};

} // namespace umadvisor::rules

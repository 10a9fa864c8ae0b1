/// When what is read happened. A header of its own: those who read a profile have no use for it.
#pragma once

#include "analyzer/facts/calls.hpp"
#include "analyzer/model/copies.hpp"
#include "analyzer/model/device_work.hpp"
#include "analyzer/model/host_times.hpp"
#include "analyzer/model/named_ranges.hpp"
#include "analyzer/model/profile.hpp"
#include "analyzer/timeline/clock.hpp"

#include <cstdint>

namespace umadvisor::model {

struct Profile::Clocks {
    Clocks(const reader::Trace& trace, const machine::Rates& rates, NamedRanges& ranges)
        : facts(trace, rates),
          clock([this, &ranges](const timeline::Settled& settled) {
              host_times.settle(settled.call, settled.waited_ns);
              device_work.settle(settled.call, settled.device_ns);
              if (settled.call.range != 0)
                  ranges.settle(settled.call, settled.waited_ns);
              if (settled.call.owner == nullptr)
                  return;
              if (settled.call.kin != 0) // a launch
                  static_cast<LaunchTotals*>(settled.call.owner)->settled_ns += settled.device_ns;
              else
                  Copies::settle(*static_cast<CopyTotals*>(settled.call.owner), settled.call.bytes,
                                 settled.own_ns());
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
    HostTimes host_times;
    DeviceWork device_work;
    timeline::Clock clock;
    timeline::Clock predicted; ///< the same, of which every second wait is hidden
};

} // namespace umadvisor::model

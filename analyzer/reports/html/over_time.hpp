/// A run over time as a small picture that needs no script: two runs are compared by theirs.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/html/markup.hpp"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace umadvisor::html {

class TimelinePass;

/// What the main thread and the busiest stream do, in even columns, each split by shares from 0 to 1.
struct OverTime {
    static constexpr std::size_t columns = 480, host_states = 8, device_states = 3;
    double ns = 0; ///< of the run
    std::vector<std::array<float, host_states>> host;
    std::vector<std::array<float, device_states>> device; ///< empty without a stream
};

/// Makes it of one trace, beside its report.
class OverTimePass {
public:
    OverTimePass();
    ~OverTimePass();

    /// What a report runs beside.
    std::function<void()> beside(advice::Report& report);
    /// Call once the report is made.
    void finish(advice::Report& report);
    /// Nothing: there was no trace.
    const std::optional<OverTime>& made() const { return made_; }

private:
    std::unique_ptr<TimelinePass> pass_;
    std::optional<OverTime> made_;
};

/// Both runs under each other, on one scale of time, with what the colours mean.
void write_over_time(Markup& out, const OverTime& before, const OverTime& after);

} // namespace umadvisor::html

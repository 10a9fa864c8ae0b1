#include "analyzer/reports/html/timeline/stack_times.hpp"

#include <algorithm>

namespace umadvisor::html {

void StackTimes::take_faults(const PieceRow& row, const ByCode& host) {
    if (row.exact()) {
        by_name_.clear();
        for (const Piece& piece : row.pieces())
            add(static_cast<Cause>(piece.state), piece.name, piece.end - piece.begin);
    } else { // the bins have no names: each name gives the same share of its time
        constexpr auto to = static_cast<std::size_t>(Cause::device_faults);
        for (const Cause waits : {Cause::kernels, Cause::copies}) {
            const auto from = static_cast<std::size_t>(waits);
            double sum = 0;
            for (const auto& times : by_name_)
                sum += times[from];
            const double kept = sum > 0 ? std::clamp(row.binned_ns(from) / sum, 0.0, 1.0) : 1;
            for (auto& times : by_name_) {
                times[to] += times[from] * (1 - kept);
                times[from] *= kept;
            }
        }
        const double faults = row.binned_ns(static_cast<std::size_t>(Cause::host_faults));
        if (faults > 0) {
            add(Cause::host_faults, 0, faults);
            double& code = by_name_[0][static_cast<std::size_t>(Cause::code)];
            code = std::max(0.0, code - faults);
        }
    }
    host_faults_ = host;
    double sum = 0;
    for (const auto& [code, ns] : host)
        sum += ns;
    for (auto& [code, ns] : host_faults_) // a call's own time holds the faults in it
        ns *=
            by_name_.empty() || sum <= 0 ? 0 : by_name_[0][static_cast<std::size_t>(Cause::host_faults)] / sum;
}

} // namespace umadvisor::html

/// How many times as fast one program is as another, from a few runs of each.
#pragma once

#include <cstddef>
#include <vector>

namespace umadvisor::cli {

/// With fewer runs of each, no interval has 95% confidence. More than `most_runs` need not be counted out.
inline constexpr std::size_t least_runs = 4, most_runs = 100;

struct SpeedRatio {
    double ratio;      ///< above 1: faster
    double low, high;  ///< of the interval around it
    double confidence; ///< that the interval holds the true ratio: 0.95 or a little more
};

/// The estimator of Hodges and Lehmann for the logarithm of time, that is the median of all ratios
/// `before[i] / after[j]`, with the distribution-free interval that belongs to the rank sum test of Mann and
/// Whitney, from its exact distribution (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3rd
/// edition, sections 4.2 and 4.3). Times are of any unit, above zero; of each at least `least_runs`.
SpeedRatio speed_ratio(const std::vector<double>& before, const std::vector<double>& after);

double median(std::vector<double> values); ///< of at least one

} // namespace umadvisor::cli

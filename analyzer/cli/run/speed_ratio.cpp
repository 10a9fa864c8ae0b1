#include "analyzer/cli/run/speed_ratio.hpp"

#include <algorithm>
#include <numeric>

namespace umadvisor::cli {
namespace {

constexpr double most_error = 0.05; ///< on both sides together

/// In how many orders of n and m values Mann and Whitney's statistic is 0, 1, ... n * m: the coefficients of
/// the Gaussian binomial, the product of (1 - q^(n + i)) / (1 - q^i).
std::vector<double> rank_orders(std::size_t n, std::size_t m) {
    std::vector<double> orders(n * m + 1);
    orders[0] = 1;
    for (std::size_t i = 1; i <= m; ++i) {
        for (std::size_t u = n * m; u >= n + i; --u)
            orders[u] -= orders[u - n - i];
        for (std::size_t u = i; u <= n * m; ++u)
            orders[u] += orders[u - i];
    }
    return orders;
}

} // namespace

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

SpeedRatio speed_ratio(const std::vector<double>& before, const std::vector<double>& after) {
    std::vector<double> ratios;
    for (const double b : before)
        for (const double a : after)
            ratios.push_back(b / a);
    std::sort(ratios.begin(), ratios.end());
    const std::vector<double> orders = rank_orders(before.size(), after.size());
    const double all = std::accumulate(orders.begin(), orders.end(), 0.0);
    // The interval begins at the ratio with this number, counted from 1, and ends as far from the other end.
    std::size_t left_out = 0;
    double outside = 0;
    while (2 * (outside + orders[left_out]) <= most_error * all)
        outside += orders[left_out++];
    const std::size_t first = left_out - 1; // with least_runs at least one is
    return {median(ratios), ratios[first], ratios[ratios.size() - 1 - first], 1 - 2 * outside / all};
}

} // namespace umadvisor::cli

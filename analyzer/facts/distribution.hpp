/// Many values, kept as what a table says of them.
#pragma once

#include <cstdint>
#include <map>

namespace umadvisor::facts {

/// Count, sum, extremes, mean and deviation are exact, the median is within one part in 64. Memory: a few
/// hundred buckets at the most, however many values there are.
class Distribution {
public:
    /// `weight` values that are alike.
    void add(std::uint64_t value, std::uint64_t weight = 1);
    void add(const Distribution& other);

    std::uint64_t count() const { return count_; }
    std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
    std::uint64_t max() const { return max_; }
    std::uint64_t sum() const { return sum_; }
    double mean() const { return mean_; }
    /// Of a sample: 0 for less than two values.
    double deviation() const;
    double median() const;

private:
    std::uint64_t count_ = 0, sum_ = 0, min_ = UINT64_MAX, max_ = 0;
    double mean_ = 0, squares_ = 0; ///< squares: of the distances from the mean
    std::map<std::uint32_t, std::uint64_t> buckets_;
};

} // namespace umadvisor::facts

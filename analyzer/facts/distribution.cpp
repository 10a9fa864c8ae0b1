#include "analyzer/facts/distribution.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace umadvisor::facts {
namespace {

/// A bucket holds the values whose first so many binary digits, and whose length, are the same.
constexpr unsigned digits = 6;

std::uint32_t bucket_of(std::uint64_t value) {
    const auto length = static_cast<unsigned>(std::bit_width(value));
    const unsigned shift = length > digits ? length - digits : 0;
    return shift << digits | static_cast<std::uint32_t>(value >> shift);
}

double middle_of(std::uint32_t bucket) {
    const unsigned shift = bucket >> digits;
    const double first = std::ldexp(bucket & ((1u << digits) - 1), static_cast<int>(shift));
    return first + (std::ldexp(1, static_cast<int>(shift)) - 1) / 2;
}

} // namespace

void Distribution::add(std::uint64_t value, std::uint64_t weight) {
    if (weight == 0)
        return;
    reader::add_saturated(count_, weight);
    reader::add_saturated(sum_, reader::saturated_product(value, weight));
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    const double distance = static_cast<double>(value) - mean_;
    mean_ += distance * static_cast<double>(weight) / static_cast<double>(count_);
    squares_ += distance * (static_cast<double>(value) - mean_) * static_cast<double>(weight);
    buckets_[bucket_of(value)] += weight;
}

/// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
void Distribution::add(const Distribution& other) {
    if (other.count_ == 0)
        return;
    const double distance = other.mean_ - mean_;
    const auto ours = static_cast<double>(count_), theirs = static_cast<double>(other.count_);
    mean_ += distance * theirs / (ours + theirs);
    squares_ += other.squares_ + distance * distance * ours * theirs / (ours + theirs);
    reader::add_saturated(count_, other.count_);
    reader::add_saturated(sum_, other.sum_);
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    for (const auto& [bucket, count] : other.buckets_)
        buckets_[bucket] += count;
}

double Distribution::deviation() const {
    return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

double Distribution::median() const {
    std::uint64_t before = 0;
    for (const auto& [bucket, count] : buckets_) {
        before += count;
        if (2 * before >= count_)
            return std::clamp(middle_of(bucket), static_cast<double>(min_), static_cast<double>(max_));
    }
    return 0;
}

} // namespace umadvisor::facts

/// How much memory copies of one line go through, however often.
#pragma once

#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace umadvisor::facts {

/// The sum over sizes of what their copies cover. Of one size, ranges that overlap are one buffer: in a heap,
/// what a program makes anew in each round begins a little elsewhere each time. A buffer of another size is
/// another. Memory: at most `most_ranges`; beyond, a copy outside of them counts as one of a buffer of its own.
class Footprint {
public:
    static constexpr std::size_t most_ranges = 1024;

    void add(std::uint64_t address, std::uint64_t bytes) {
        add(bytes, address, reader::saturated_sum(address, bytes));
    }
    void add(const Footprint& other) {
        for (const auto& [range, last] : other.ranges_)
            add(range.first, range.second, last);
    }
    std::uint64_t bytes() const { return bytes_; }

private:
    void add(std::uint64_t size, std::uint64_t first, std::uint64_t last) {
        auto next = ranges_.upper_bound({size, first});
        if (next != ranges_.begin())
            if (const auto before = std::prev(next); before->first.first == size && before->second >= first)
                next = before;
        const auto begin = next;
        std::uint64_t known = 0;
        for (; next != ranges_.end() && next->first.first == size && next->first.second <= last; ++next) {
            known += next->second - next->first.second;
            first = std::min(first, next->first.second);
            last = std::max(last, next->second);
        }
        bytes_ += last - first - known;
        if (begin == next && ranges_.size() >= most_ranges)
            return;
        ranges_.erase(begin, next);
        ranges_.emplace(std::pair(size, first), last);
    }

    /// Size of the copies and first byte of a buffer -> its end.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> ranges_;
    std::uint64_t bytes_ = 0;
};

} // namespace umadvisor::facts

/// Calls whose device time was sampled, until the trace has it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

namespace umadvisor::facts {

/// Joins a call and the time that the device took for it, which a later record has. Calls are sampled one in
/// many, so an entry may be large. Memory: `most` entries; of more, the ones that have waited longest are
/// forgotten, since a time that is lost never comes.
class Samples {
public:
    static constexpr std::size_t most = 262'144;

    /// Calls `use` once the device's time of the call is read, if ever: in nanoseconds, less what the
    /// measurement itself took. The objects that `use` refers to must live as long as records are read. Does
    /// nothing for sample 0: the call was not sampled.
    template <std::invocable<std::uint64_t> Use>
    void await(std::uint64_t sample, Use&& use) {
        if (sample != 0)
            add(sample, std::forward<Use>(use));
    }
    void measured(std::uint64_t sample, std::uint64_t ns) {
        for (auto* const uses : {&before_, &latest_}) {
            const auto [first, last] = uses->equal_range(sample);
            for (auto each = first; each != last; ++each)
                each->second(ns);
            uses->erase(first, last);
        }
    }

private:
    using Use = std::function<void(std::uint64_t ns)>;

    [[gnu::noinline]] void add(std::uint64_t sample, Use use) {
        if (latest_.size() == most / 2)
            before_ = std::exchange(latest_, {});
        latest_.emplace(sample, std::move(use));
    }

    std::unordered_multimap<std::uint64_t, Use> latest_, before_; ///< by the number of the sample
};

} // namespace umadvisor::facts

/// What rows with too many pieces hold around a few moments: the longest call of each of a few stacks.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "analyzer/reports/html/timeline/placement.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::html {

/// One piece of one row.
struct Sight {
    enum class Of : std::uint8_t { where, calls, work, link, stay, move, launch };
    double begin = 0, end = 0;
    std::uint64_t bytes = 0;
    std::uint32_t row = 0, number = 0; ///< number: of a name; which of a line's allocations
    Of of{};
    std::uint8_t state = 0;                    ///< of a move: its cause, twice, and whether it goes up
    std::array<std::uint8_t, places> shares{}; ///< of a stay

    bool meets(double from, double until) const { return begin < until && end > from; }
};

/// The part of the run that is kept around one call.
struct Closeup {
    double begin = 0, end = 0; ///< of the call
    double from = 0, until = 0;
    std::vector<Sight> sights; ///< all that meet it
};

/// Keeps the latest sights, and looks back when a call was longer than those before. Memory: `most` sights for
/// each stack that is watched, and twice the latest.
class Closeups {
public:
    static constexpr std::size_t most = 4'000, latest = 4'096;

    /// `reach`: so much of the run is kept before and after a call; 0: nothing is.
    explicit Closeups(double reach) : reach_(reach) {}

    void add(const Sight& sight) {
        if (reach_ <= 0 || sight.end <= sight.begin)
            return;
        extend(sight); // where it began after the call, was reported late, or took long
        newer_.push_back(sight);
        if (newer_.size() == latest)
            look_back();
    }
    /// The longest call of that stack so far.
    void longest(ids::StackId stack, double begin, double end) {
        if (reach_ > 0)
            waiting_[stack] = {begin, end};
    }
    /// By stack. Call once, after the last sight.
    std::map<ids::StackId, Closeup> finish() {
        look_back();
        return std::move(collected_);
    }

private:
    void extend(const Sight& sight);
    void look_back();

    double reach_;
    std::vector<Sight> older_, newer_;
    std::map<ids::StackId, std::pair<double, double>> waiting_; ///< calls that look_back() has not handled yet
    std::map<ids::StackId, Closeup> collected_;
    std::vector<std::pair<double, Closeup*>> ends_; ///< of those, when look_back() was last there; latest first
    double lost_until_ = 0;                         ///< sights that end before are not all there any more
};

} // namespace umadvisor::html

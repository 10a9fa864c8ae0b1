/// When device work can have ended at the earliest.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/facts/samples.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace umadvisor::facts {

/// Work does not begin before its call, nor before the work of its stream that was queued earlier has ended. It
/// takes what was measured; a copy or memory set takes at least what the fastest machine needs. Memory: of each
/// stream the last `most_before` pieces of work whose length is known, and those that are still referred to.
class LeastEnds {
public:
    static constexpr std::uint32_t most_before = 64;

    /// `samples` must outlive it.
    explicit LeastEnds(Samples& samples) : samples_(samples) {}

    struct Piece {
        double start = 0, least_ns = 0; ///< nanoseconds, as facts::Call has them
        std::shared_ptr<const Piece> before;
        std::uint32_t depth = 0;
    };
    /// A piece of work, or a moment behind one.
    struct Work {
        std::shared_ptr<const Piece> last; ///< of its stream whose length is known; null: none
        double start = 0;                  ///< of its call

        double end() const;
    };

    /// Returns the work that the call queues, which surely moves or sets `bytes`.
    Work add(const facts::Call& call, std::uint64_t bytes);

private:
    Samples& samples_;
    std::vector<std::shared_ptr<Piece>> last_; ///< by StreamPlace::number
};

} // namespace umadvisor::facts

/// Samples whose device time has not been read from the trace yet.
#pragma once

#include "analyzer/reader/flat_map.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace umadvisor::facts {

/// Maps a sample's number to what its time is to be added to. Memory: `most` samples; of more, the ones that
/// have waited longest are forgotten, since a time that is lost never comes.
template <class What>
class Awaited {
public:
    static constexpr std::size_t most = 65'536;

    void add(std::uint64_t sample, What what) {
        if (latest_.size() == most / 2)
            before_ = std::exchange(latest_, {});
        latest_[sample] = std::move(what);
    }
    /// Ends the wait for it. Nothing: it never was awaited, or is forgotten.
    std::optional<What> take(std::uint64_t sample) {
        for (auto* const samples : {&latest_, &before_})
            if (What* const found = samples->find(sample)) {
                std::optional<What> what = std::move(*found);
                samples->erase(sample);
                return what;
            }
        return std::nullopt;
    }

private:
    reader::FlatMap<What> latest_, before_;
};

} // namespace umadvisor::facts

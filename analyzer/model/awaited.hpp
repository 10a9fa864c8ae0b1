/// Samples whose device time the trace has yet to tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

namespace umadvisor::model {

/// By the number of the sample, what its time is to be added to. Memory: `most` samples; of more, the ones that
/// have waited longest are forgotten, since a time that is lost never comes.
template <class What>
class Awaited {
public:
    static constexpr std::size_t most = 65'536;

    void add(std::uint64_t sample, What what) {
        if (latest_.size() == most / 2)
            before_ = std::exchange(latest_, {});
        latest_.insert_or_assign(sample, std::move(what));
    }
    /// It is no longer awaited then. Nothing: it never was, or is forgotten.
    std::optional<What> take(std::uint64_t sample) {
        for (auto* const samples : {&latest_, &before_})
            if (!samples->empty())
                if (auto found = samples->extract(sample))
                    return std::move(found.mapped());
        return std::nullopt;
    }

private:
    std::unordered_map<std::uint64_t, What> latest_, before_;
};

} // namespace umadvisor::model

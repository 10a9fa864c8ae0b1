/// How much memory copies of one line go through, however often.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

namespace umadvisor::model {

/// The sum of distinct buffers. A buffer that begins or ends elsewhere is another: what was there before may
/// have been freed. Memory: at most `most_buffers`; beyond, each copy counts as one of a buffer of its own.
class Footprint {
public:
    static constexpr std::size_t most_buffers = 1024;

    void add(std::uint64_t address, std::uint64_t bytes) {
        if (buffers_.size() < most_buffers ? buffers_.emplace(address, bytes).second
                                           : !buffers_.contains({address, bytes}))
            bytes_ += bytes;
    }
    void add(const Footprint& other) {
        for (const auto& [address, bytes] : other.buffers_)
            add(address, bytes);
    }
    std::uint64_t bytes() const { return bytes_; }

private:
    std::set<std::pair<std::uint64_t, std::uint64_t>> buffers_;
    std::uint64_t bytes_ = 0;
};

} // namespace umadvisor::model

/// How devices take managed memory from each other.
#pragma once

#include "analyzer/facts/peers.hpp"
#include "analyzer/ids/stack_id.hpp"
#include "analyzer/reader/saturated.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::managed {

/// What prefetches of the program brought to one device from the other, whose kernels had used it there.
struct PassedOn {
    std::uint64_t calls = 0, bytes = 0;
    ids::StackId stack{}; ///< of the last call

    void add(const PassedOn& other) {
        reader::add_saturated(calls, other.calls);
        reader::add_saturated(bytes, other.bytes);
        stack = other.calls != 0 ? other.stack : stack;
    }
};

struct DeviceTurns {
    std::uint64_t turns = 0;       ///< launches that reach it on the other device than the launch before them
    std::uint64_t whole_bytes = 0; ///< what would have moved if each turn moved all of it
    std::uint64_t known_bytes = 0; ///< that moved between the two, not by prefetch calls
    PassedOn read; ///< that kernels only read, and that had been there since the host last used it
    /// Moves away from a device whose kernels may still use it, where no call orders the two, and moves back.
    PassedOn torn;

    void add(const DeviceTurns& other) {
        reader::add_saturated(turns, other.turns);
        reader::add_saturated(whole_bytes, other.whole_bytes);
        reader::add_saturated(known_bytes, other.known_bytes);
        read.add(other.read);
        torn.add(other.torn);
    }
};

/// Memory: `most` pairs of devices; what further ones do is left out.
class DevicePairs {
public:
    static constexpr std::size_t most = 64;

    void turn(const facts::DevicePair& pair, std::uint64_t bytes) { add(pair, {1, bytes, 0, {}, {}}); }
    void moved(const facts::DevicePair& pair, std::uint64_t bytes) { add(pair, {0, 0, bytes, {}, {}}); }
    void passed_on(const facts::DevicePair& pair, const PassedOn& read, const PassedOn& torn) {
        add(pair, {0, 0, 0, read, torn});
    }
    void add(const DevicePairs& other) {
        for (const auto& [pair, turns] : other.pairs_)
            add(pair, turns);
    }
    const std::map<facts::DevicePair, DeviceTurns>& pairs() const { return pairs_; }

private:
    void add(const facts::DevicePair& pair, const DeviceTurns& turns) {
        if (const auto found = pairs_.find(pair); found != pairs_.end())
            found->second.add(turns);
        else if (pairs_.size() < most)
            pairs_.emplace(pair, turns);
    }
    std::map<facts::DevicePair, DeviceTurns> pairs_;
};

} // namespace umadvisor::managed

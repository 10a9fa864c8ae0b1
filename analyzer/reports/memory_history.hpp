/// What a program had allocated on its devices, call by call.
#pragma once

#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "trace/event_records.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace umadvisor::reports {

/// Memory that the driver has given out and that is not freed.
struct HeldMemory {
    trace::AllocationId allocation{};
    std::uint64_t address = 0, bytes = 0, device = 0;
    trace::StreamId stream{};
    ids::CallSite site;
    std::uint64_t managed = 0; ///< 1: it may be on the host
};

/// One entry of a history; a call is several.
struct MemoryStep {
    std::string_view action; ///< PyTorch's word
    HeldMemory memory;       ///< with the stack and entry of the call; of an "oom" what was asked for
    std::uint64_t start = 0; ///< ticks
    std::uint64_t free = 0;  ///< of an "oom": bytes that the device may have had, at the most
};

/// Keeps the newest `limit` steps. No two pieces that are held overlap: memory whose free was not seen, or is
/// reported late, is gone when its addresses are given out again.
class MemoryHistory {
public:
    static constexpr std::uint64_t most_devices = 64;

    /// `dictionary` must outlive it. `at_oom`: what comes after the first allocation that failed is not looked
    /// at.
    MemoryHistory(const reader::Dictionary& dictionary, std::size_t limit, bool at_oom)
        : dictionary_(dictionary), limit_(limit), at_oom_(at_oom) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);

    const std::map<std::uint64_t, HeldMemory>& held() const { return held_; } ///< by address
    const std::deque<MemoryStep>& steps() const { return steps_; }
    /// Those steps; they are forgotten.
    std::deque<MemoryStep> take_steps() { return std::exchange(steps_, {}); }
    /// Held on a device, without managed memory.
    std::uint64_t held_bytes(std::uint64_t device) const {
        const auto held = device_bytes_.find(device);
        return held == device_bytes_.end() ? 0 : held->second;
    }
    std::size_t left_out() const { return left_out_; }
    bool any_oom() const { return any_oom_; }

private:
    static constexpr std::uint64_t first_array = std::uint64_t{1} << 50; ///< beyond what a device can address
    using Held = std::map<std::uint64_t, HeldMemory>::iterator;
    bool is_followed(const trace::Alloc& record) const;
    void make_room(const HeldMemory& memory, std::uint64_t start);
    void release(Held held, const ids::CallSite& by, std::uint64_t start);
    void step(std::string_view action, const HeldMemory& memory, std::uint64_t start, std::uint64_t free = 0);
    std::uint64_t most_free(std::uint64_t device) const;

    const reader::Dictionary& dictionary_;
    std::size_t limit_;
    bool at_oom_;
    std::map<std::uint64_t, HeldMemory> held_;
    std::unordered_map<trace::AllocationId, std::uint64_t> addresses_; ///< by allocation
    std::map<std::uint64_t, std::uint64_t> device_bytes_;              ///< held, without managed memory
    std::deque<MemoryStep> steps_;
    std::size_t left_out_ = 0;
    std::uint64_t next_array_ = first_array;
    bool any_oom_ = false;
};

} // namespace umadvisor::reports

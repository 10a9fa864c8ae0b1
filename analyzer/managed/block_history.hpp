/// What became of each 2 MiB block of a managed allocation: the driver works by such blocks.
#pragma once

#include "trace/managed_records.hpp"

#include <cstdint>
#include <map>
#include <string_view>

namespace umadvisor::managed {

enum class BlockPlace : std::uint8_t { unknown, host, device, both };
std::string_view name(BlockPlace place);

struct BlockActivity {
    std::uint64_t bytes_to_device = 0, bytes_to_host = 0;
    std::uint64_t device_faults = 0, host_faults = 0;
    std::uint64_t round_trips = 0; ///< to the device and then back
    std::uint64_t first_ticks = UINT64_MAX, last_ticks = 0;
    std::uint64_t host_code = 0;            ///< frame: of the last host fault
    BlockPlace place = BlockPlace::unknown; ///< where it was seen last
    bool away = false;                      ///< moved to the device and not yet back

    void add(const BlockActivity& other);
    std::uint64_t traffic() const;
};

/// What all histories of a trace hold together.
struct BlockBudget {
    std::uint64_t most = 65'536; ///< blocks; beyond it allocations that need more get larger ones
    std::uint64_t used = 0;
    std::uint64_t coarser = 0; ///< allocations whose blocks are larger than 2 MiB by that
};

/// Memory: the budget, and at most two blocks for each allocation that came when it was spent.
class BlockHistory {
public:
    explicit BlockHistory(BlockBudget& budget) : budget_(budget) {}
    ~BlockHistory() { budget_.used -= blocks_.size(); }
    BlockHistory(const BlockHistory&) = delete;
    BlockHistory& operator=(const BlockHistory&) = delete;

    /// `first` to `last`: the bytes of the allocation that the event is about, as offsets. Returns the block of
    /// the first of them, valid until the next call.
    const BlockActivity& add(const trace::ManagedEvent& event, std::uint64_t first, std::uint64_t last);

    std::uint64_t block_bytes() const { return std::uint64_t{1} << shift_; }
    const std::map<std::uint64_t, BlockActivity>& blocks() const { return blocks_; } ///< by number

private:
    BlockActivity& at(std::uint64_t offset);
    void coarsen();

    BlockBudget& budget_;
    std::map<std::uint64_t, BlockActivity> blocks_;
    unsigned shift_ = 21;
};

} // namespace umadvisor::managed

/// One copy's way through a ring.
#pragma once

#include "interposer/act/stage_pool.hpp"
#include "interposer/act/stage_ring.hpp"
#include "policy/stage_plan.hpp"

namespace umadvisor::act {

/// Pieces follow each other in order, each buffer as soon as it is free. `stream` is an explicit handle of the
/// ring's context, whose earlier work is done. `cached`: for stage_manner(). A failed driver call ends it with
/// the driver's answer.
class StagePassage {
public:
    StagePassage(StageRing& ring, StagePool& pool, bool cached, CUstream stream, CUdeviceptr device, char* host,
                 std::uint64_t bytes, policy::StageRows rows) noexcept
        : ring_(ring),
          pool_(pool),
          cached_(cached),
          stream_(stream),
          device_(device),
          host_(host),
          rows_(rows),
          plan_(bytes, ring.buffer_bytes, rows.width == 0 ? 1 : rows.width) {}

    /// Returns when the host's memory has been read; the last transfers may be under way.
    CUresult to_device() noexcept;
    /// Returns when all is in the host's memory.
    CUresult to_host() noexcept;

    /// After to_device(): waits until the last transfer is done.
    CUresult finish() noexcept;
    /// After a failure: nothing is under way any more in memory that is the program's. False: the device may
    /// still use the ring.
    bool abandon() noexcept;

private:
    StageBuffer& buffer(std::size_t piece) noexcept { return ring_.buffers[piece % policy::stage_buffers]; }
    CUresult await(StageBuffer& buffer) noexcept;
    CUresult fill_ahead() noexcept;
    CUresult fetch_ahead() noexcept;
    char* host_of(std::size_t piece) const noexcept;
    StageJob job(std::size_t piece, bool fill) noexcept;
    CUresult transfer(std::size_t piece, bool to_device) noexcept;
    void finish_jobs() noexcept;
    CUresult transferred(StageBuffer& buffer, CUresult answer) noexcept;

    StageRing& ring_;
    StagePool& pool_;
    bool cached_;
    CUstream stream_;
    CUdeviceptr device_;
    char* host_;
    policy::StageRows rows_;
    policy::StagePlan plan_;
    std::size_t begun_ = 0;  ///< pieces that have a buffer
    std::size_t passed_ = 0; ///< pieces that went on from there
    std::size_t put_ = 0;    ///< pieces that the pool was given
};

} // namespace umadvisor::act

/// What has to move so that a launch finds what it reaches on the device.
#pragma once

#include "interposer/act/bring.hpp"
#include "policy/device_turns.hpp"
#include "policy/prefetch_plan.hpp"
#include "trace/values.hpp"

namespace umadvisor::act {

/// What is to be done about memory that several devices reach.
struct SharedMove {
    policy::PrefetchRange range;
    bool begins_copies, ends_copies, brings;
    policy::DeviceTurns::Change change; ///< to be told
};

struct Moves {
    policy::PrefetchPlan out, in;
    std::uint64_t given_up = 0, parted = 0; ///< ids of allocations; 0: none
    static constexpr std::uint32_t most_shared = 16;
    std::uint32_t shared_count = 0;
    SharedMove shared[most_shared];
};

/// What others have to leave to a launch on `stream`, and what is missing of `touched`; taken for done. Takes
/// knowledge.mutex, and asks the driver without it.
void plan_moves(const observe::Touched& touched, CUdevice device, CUstream stream, Moves& moves) noexcept;

/// The same for the launch that is expected after `running`: nothing leaves that is wanted as soon as what
/// `running` reaches, so that it can go on meanwhile.
void plan_moves_ahead(const observe::Touched& running, const observe::Touched& next, CUdevice device,
                      CUstream stream, Moves& moves) noexcept;

/// What the driver refuses is left to faults, as it would have been; it is not tried again and again. `reason`
/// of what comes to the device.
void make_moves(const Moves& moves, CUdevice device, Launching launch, trace::Reason reason) noexcept;

} // namespace umadvisor::act

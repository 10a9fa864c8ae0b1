/// What --act prefetch knows of the program and goes by.
#pragma once

#include "interposer/act/mode.hpp"
#include "interposer/act/pointees.hpp"
#include "interposer/act/reached.hpp"
#include "interposer/record/mutex.hpp"
#include "policy/allocation_names.hpp"
#include "policy/compared_rounds.hpp"
#include "policy/device_turns.hpp"
#include "policy/host_returns.hpp"
#include "policy/last_reach.hpp"
#include "policy/launch_sequence.hpp"
#include "policy/residency_map.hpp"

namespace umadvisor::act {

/// Of the process.
struct Knowledge {
    record::Mutex mutex; ///< guards the rest; never held during a call of the driver
    policy::ResidencyMap residency;
    policy::HostReturns host_returns;
    policy::LastReach last_reach;
    policy::AllocationNames names;
    Pointees pointees;
    policy::LaunchSequence sequence;
    policy::ComparedRounds compared_rounds;
    policy::DeviceTurns turns;
};
extern constinit Knowledge knowledge;
extern constinit Mode prefetch_mode;

/// Of the calling thread.
Reached& reached() noexcept;

} // namespace umadvisor::act

/// What --act prefetch knows of the program and goes by.
#pragma once

#include "interposer/act/allocation_names.hpp"
#include "interposer/act/compared_rounds.hpp"
#include "interposer/act/device_turns.hpp"
#include "interposer/act/host_returns.hpp"
#include "interposer/act/last_reach.hpp"
#include "interposer/act/launch_sequence.hpp"
#include "interposer/act/mode.hpp"
#include "interposer/act/pointees.hpp"
#include "interposer/act/reached.hpp"
#include "interposer/act/residency_map.hpp"
#include "interposer/record/mutex.hpp"

namespace umadvisor::act {

/// Of the process.
struct Knowledge {
    record::Mutex mutex; ///< guards the rest; never held during a call of the driver
    ResidencyMap residency;
    HostReturns host_returns;
    LastReach last_reach;
    AllocationNames names;
    Pointees pointees;
    LaunchSequence sequence;
    ComparedRounds compared_rounds;
    DeviceTurns turns;
};
extern constinit Knowledge knowledge;
extern constinit Mode prefetch_mode;

/// Of the calling thread.
Reached& reached() noexcept;

} // namespace umadvisor::act

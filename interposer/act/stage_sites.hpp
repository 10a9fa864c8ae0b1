/// Call sites whose copies are not staged though they could be: now and then the driver makes one, so that the
/// trace tells what staging gains; `--act auto` gives up those where the driver turns out to be faster, and a
/// plan names some.
#pragma once

#include "interposer/runtime/options.hpp"
#include "policy/stage_plan.hpp"

namespace umadvisor::act {

/// Before the first copy.
void initialize_stage_sites(const runtime::Options& options) noexcept;

/// Why the driver is to make a copy of the call that this thread is in; `none`: it is to be staged.
trace::Reason reason_to_leave(policy::StageWay way) noexcept;

namespace detail {
void judge_staging(trace::Copy& copy) noexcept;
}

/// A copy has been made, and its record is complete: what it took tells of its call site, which may be given up
/// for it.
inline void judge_staging(trace::Copy& copy) noexcept {
    if (copy.staged != 0 || copy.reason == trace::Reason::compared)
        detail::judge_staging(copy);
}

} // namespace umadvisor::act

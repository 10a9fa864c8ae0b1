#include "interposer/observe/launch_detail.hpp"

#include "interposer/record/recorder.hpp"
#include "interposer/runtime/options.hpp"

namespace umadvisor::observe {

constinit std::atomic<bool> detail::brief_launches{false};

void begin_brief_launches() noexcept {
    detail::brief_launches.store(true, std::memory_order_relaxed);
    record::note(
        "launches are recorded by kernel, shape, stream and time alone%s; UMADVISOR_LAUNCHES=full takes "
        "their call stacks and what they reach, too",
        runtime::options().launches == runtime::LaunchDetail::automatic
            ? " as long as the program has no managed memory of its own"
            : "");
}

void note_own_managed_memory() noexcept {
    if (launches_are_brief() && runtime::options().launches == runtime::LaunchDetail::automatic)
        detail::brief_launches.store(false, std::memory_order_relaxed);
}

} // namespace umadvisor::observe

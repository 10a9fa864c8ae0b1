#include "interposer/act/executor.hpp"

#include "interposer/act/bring_ahead.hpp"
#include "interposer/act/devices.hpp"
#include "interposer/act/prefetch.hpp"
#include "interposer/act/relieve.hpp"
#include "interposer/act/rewrite.hpp"
#include "interposer/act/stage_ring.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/message.hpp"

namespace umadvisor::act {

void initialize(const runtime::Options& options) noexcept {
    const bool acting =
        options.act_prefetch || options.act_relieve || options.act_rewrite != runtime::Rewriting::none;
    if (!acting && options.pretend_bytes == 0)
        return;
    const auto [count, able] = learn_devices(options);
    if (!acting)
        return;
    if (able == 0) {
        constexpr const char* refusal =
            "--act is refused: no device has concurrentManagedAccess; the program runs as it would without";
        runtime::say("%s", refusal);
        record::note("%s", refusal);
        return;
    }
    if (able < count)
        record::note("--act leaves alone %d of %d devices, which have no concurrentManagedAccess", count - able,
                     count);
    if (options.act_prefetch)
        start_prefetching();
    if (options.act_rewrite != runtime::Rewriting::none)
        start_rewriting(options);
    if (options.act_relieve)
        start_relieving(options.act_auto);
}

void refuse_unrecorded(const runtime::Options& options) noexcept {
    if (options.acts())
        runtime::say("--act is refused: nothing is done to a program that is not recorded");
}

void forget_context(std::uint16_t number) noexcept {
    forget_ring(number);
    forget_ahead(number);
}

void forget(const observe::Allocation& allocation) noexcept {
    if (allocation.fills_card)
        remove_plain(allocation.device, allocation.bytes);
    if (allocation.leads_on)
        forget_pointees(allocation);
    if (allocation.memory != trace::Memory::managed)
        return;
    forget_rewritten(allocation);
    forget_residency(allocation);
    forget_relief(allocation);
}

} // namespace umadvisor::act

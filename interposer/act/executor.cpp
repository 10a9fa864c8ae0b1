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

namespace {

void tell(const char* text) {
    runtime::say("%s", text);
    record::note("%s", text);
}

/// Why nothing is done at all; null: something can be.
const char* refusal(const DeviceCount& devices) {
    if (devices.able != 0)
        return nullptr;
    if (devices.one_pool != 0)
        return "--act is refused: host and device share one memory, so nothing has to move; all runs as it "
               "would without";
    return "--act is refused: no device has concurrentManagedAccess; the program runs as it would without";
}

/// Memory that is answered with managed memory whether or not the card is full gains nothing where hardware
/// reaches all memory.
bool rewrites(const runtime::Options& options, const DeviceCount& devices) {
    if (options.act_rewrite == runtime::Rewriting::none)
        return false;
    if (options.act_rewrite != runtime::Rewriting::spill && devices.coherent != 0) {
        tell(
            "--act rewrite is refused: the device's hardware reaches all memory as it is; rewrite=spill works");
        return false;
    }
    if (devices.hmm != 0)
        tell("--act rewrite lets a program take more than the device holds: with HMM that has hung machines "
             "(open-gpu-kernel-modules issue 1223); uvm_disable_hmm=1 of the module nvidia-uvm turns HMM off");
    return true;
}

} // namespace

void initialize(const runtime::Options& options) noexcept {
    const bool acting =
        options.act_prefetch || options.act_relieve || options.act_rewrite != runtime::Rewriting::none;
    if (!acting && options.pretend_bytes == 0)
        return;
    const DeviceCount devices = learn_devices(options);
    if (!acting)
        return;
    if (const char* const why = refusal(devices))
        return tell(why);
    if (devices.able < devices.all)
        record::note("--act leaves alone %d of %d devices, which have no concurrentManagedAccess",
                     devices.all - devices.able, devices.all);
    if (options.act_prefetch)
        start_prefetching();
    if (rewrites(options, devices))
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

#include "interposer/observe/managed_watch.hpp"

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/cupti_watch.hpp"
#include "interposer/observe/driver_settings.hpp"
#include "interposer/observe/queue_watch.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/totals.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/options.hpp"

namespace umadvisor::observe {

using runtime::ManagedWitness;

ManagedWatch& managed_watch() noexcept {
    static constinit ManagedWatch watch;
    return watch;
}

/// Events cost the driver up to a fifth of a migration's time. A program under --act is to be fast, so it is
/// spared them unless an action listens.
bool ManagedWatch::is_spared() const noexcept {
    return runtime::options().acts() && !listened_to_.load(std::memory_order_relaxed);
}

void ManagedWatch::start() noexcept {
    if (begun_.exchange(true))
        return;
    const ManagedWitness witness = runtime::options().managed_witness;
    if (witness == ManagedWitness::none)
        return settled_.store(true);
    const record::Quiet quiet;
    trace::ManagedSource& source = source_;
    source.source = trace::ManagedSourceKind::pagemap;
    source.driver_release = driver_release(release_);
    read_parameters(source);
    const char* trouble = nullptr;
    if (record::is_confined()) {
        trouble = "the program has installed a filter of system calls";
    } else if (witness == ManagedWitness::cupti) {
        trouble = cupti_watch().open();
        source.source = trace::ManagedSourceKind::cupti;
        if (trouble != nullptr) // the user named CUPTI
            runtime::say("%s; what the page table shows of managed memory is recorded instead", trouble);
    } else if (witness == ManagedWitness::queue || (witness == ManagedWitness::best && !is_spared())) {
        trouble = queue_watch().open(source.driver_release);
        source.source = trace::ManagedSourceKind::queue;
    }
    if (trouble != nullptr) {
        source.source = trace::ManagedSourceKind::pagemap;
        source.trouble = trouble;
    }
    record::define(source);
    counting_.store(watches());
    settled_.store(true);
}

/// Not while the process only waits for a recording.
bool ManagedWatch::is_wanted() const noexcept {
    return record::keeps() || record::watched() || listened_to_.load(std::memory_order_relaxed);
}

void ManagedWatch::wake() noexcept {
    if (!begun_.load(std::memory_order_relaxed))
        return allocations().managed_count() != 0 ? start() : void();
    record::define(source_);
    queue_watch().wake();
}

void ManagedWatch::deliver_rest() noexcept {
    queue_watch().write_rest();
}

void ManagedWatch::rest() noexcept {
    if (!is_wanted())
        queue_watch().rest();
}

bool ManagedWatch::settled() const noexcept {
    return settled_.load(std::memory_order_relaxed);
}

bool ManagedWatch::delivers() const noexcept {
    return queue_watch().watches();
}

void ManagedWatch::set_listener(ManagedListener listener) noexcept {
    queue_watch().set_listener(listener);
    listened_to_.store(true, std::memory_order_relaxed);
}

void ManagedWatch::deliver() noexcept {
    queue_watch().deliver();
}

void ManagedWatch::suspend(bool on) noexcept {
    const runtime::Options& options = runtime::options();
    if (options.managed_witness == ManagedWitness::best &&
        options.managed_detail == runtime::ManagedDetailOption::light)
        queue_watch().suspend(on);
}

bool ManagedWatch::begins_early() noexcept {
    return runtime::options().managed_witness == ManagedWitness::cupti;
}

void ManagedWatch::look_at_counters() noexcept {
    queue_watch().look_at_counters();
    cupti_watch().look();
}

bool ManagedWatch::read_totals(trace::ManagedCounters& totals) const noexcept {
    return queue_watch().read_totals(totals);
}

bool ManagedWatch::watches() const noexcept {
    return queue_watch().watches() || cupti_watch().watches();
}

/// 0 with CUPTI, which delivers its records late.
std::uint64_t ManagedWatch::sum_of_counters() const noexcept {
    return queue_watch().counts() ? queue_watch().sum_of_counters() + changes_.load(std::memory_order_relaxed)
                                  : 0;
}

/// CUPTI must not be called any more: its watch has ended with the program's exit handlers.
void ManagedWatch::finish() noexcept {
    queue_watch().finish();
    cupti_watch().forget();
    counting_.store(false);
}

void ManagedWatch::forget() noexcept {
    queue_watch().forget();
    cupti_watch().forget();
    counting_.store(false);
}

} // namespace umadvisor::observe

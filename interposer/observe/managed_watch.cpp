#include "interposer/observe/managed_watch.hpp"

#include "interposer/observe/cupti_watch.hpp"
#include "interposer/observe/driver_settings.hpp"
#include "interposer/observe/queue_watch.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/options.hpp"

namespace umadvisor::observe {

using runtime::ManagedWitness;

ManagedWatch& managed_watch() noexcept {
    static constinit ManagedWatch watch;
    return watch;
}

/// The driver takes time to tell of what moves, up to a fifth of what moving it takes. A program that is
/// repaired is to be fast: it is spared that unless a repair listens.
bool ManagedWatch::is_spared() const noexcept {
    return runtime::options().acts() && !listened_to_.load(std::memory_order_relaxed);
}

void ManagedWatch::start() noexcept {
    if (begun_.exchange(true))
        return;
    const ManagedWitness wanted = runtime::options().managed_witness;
    if (wanted == ManagedWitness::none)
        return settled_.store(true);
    const record::Quiet quiet;
    trace::ManagedSource source;
    source.source = trace::ManagedSourceKind::pagemap;
    ReleaseText release;
    source.driver_release = driver_release(release);
    read_parameters(source);
    const char* trouble = nullptr;
    if (wanted == ManagedWitness::cupti) {
        trouble = cupti_watch().open();
        source.source = trace::ManagedSourceKind::cupti;
        if (trouble != nullptr) // it was asked for by name
            runtime::say("%s; what the page table shows of managed memory is recorded instead", trouble);
    } else if (wanted == ManagedWitness::queue || (wanted == ManagedWitness::best && !is_spared())) {
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

bool ManagedWatch::settled() const noexcept {
    return settled_.load(std::memory_order_relaxed);
}

bool ManagedWatch::tells_now() const noexcept {
    return queue_watch().watches();
}

void ManagedWatch::set_listener(ManagedListener listener) noexcept {
    queue_watch().set_listener(listener);
    listened_to_.store(true, std::memory_order_relaxed);
}

void ManagedWatch::tell() noexcept {
    queue_watch().tell();
}

void ManagedWatch::rest(bool wanted) noexcept {
    const runtime::Options& options = runtime::options();
    if (options.managed_witness == ManagedWitness::best &&
        options.managed_detail == runtime::ManagedDetailWanted::light)
        queue_watch().rest(wanted);
}

bool ManagedWatch::begins_early() noexcept {
    return runtime::options().managed_witness == ManagedWitness::cupti;
}

void ManagedWatch::look_at_counters() noexcept {
    queue_watch().look_at_counters();
    cupti_watch().look();
}

bool ManagedWatch::watches() const noexcept {
    return queue_watch().watches() || cupti_watch().watches();
}

/// CUPTI hands its records over late: what has moved by now is not known by then.
std::uint64_t ManagedWatch::sum_of_counters() const noexcept {
    return queue_watch().counts() ? queue_watch().sum_of_counters() + changes_.load(std::memory_order_relaxed)
                                  : 0;
}

/// CUPTI may not be called any more: its watch has ended with the program's exit handlers.
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

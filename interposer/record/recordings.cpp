/// Begins and ends recordings.
#include "interposer/record/alive.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/checked_read.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/dictionary.hpp"
#include "interposer/record/losses.hpp"
#include "interposer/record/process.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/sink.hpp"
#include "interposer/record/stacks.hpp"
#include "interposer/record/thread_writer.hpp"

#include <algorithm>

namespace umadvisor::record {

using detail::following;

namespace {

constinit std::uint64_t private_counters[trace::counter_slots] = {};

/// Moves the counts from before the trace into it. Other threads may be counting: the pointer is published once
/// its target is complete (the exports read it with an address dependency, which orders on every machine), and
/// what they still count in the old array is moved afterwards.
void move_counters(std::uint64_t* counters) noexcept {
    __atomic_store_n(&umadvisor_counters, counters, __ATOMIC_RELEASE);
    for (std::uint32_t i = 0; i < trace::counter_slots; ++i)
        if (const std::uint64_t early = __atomic_exchange_n(&private_counters[i], 0, __ATOMIC_RELAXED))
            __atomic_fetch_add(&counters[i], early, __ATOMIC_RELAXED);
}

constinit std::uint64_t recordings = 0;
constinit trace::ClockPair followed_since{}; ///< when the program entered CUDA

/// From here on what the program makes is defined.
void begin_following() noexcept {
    followed_since = read_clock_pair();
    stop_in_children();
    detail::records_stacks = following.stack_frames > 0;
    // With release: after see_trace() a thread sees the header, the counters and the key of threads.
    detail::taking.store(following.for_later ? Taking::state : Taking::everything, std::memory_order_release);
    define_process();
    prepare_stacks(following.stack_frames, following.python);
}

/// Why this is not the whole run.
trace::Recording part_of_run(const Settings& settings) noexcept {
    trace::Recording record;
    record.cause = settings.cause;
    record.number = recordings;
    record.age_ns = read_clock_pair().monotonic_ns - followed_since.monotonic_ns;
    record.why = settings.why != nullptr ? settings.why : "";
    return record;
}

constinit Losses lost_before{}; ///< of the recording that has ended

Losses read_losses() noexcept {
    Losses all;
    std::uint64_t most = 0;
    for (std::size_t reason = 0; reason < sink.header()->dropped.size(); ++reason) {
        const std::uint64_t count = sink.header()->dropped[reason].load(std::memory_order_relaxed);
        all.records += count;
        if (count > most)
            all.reason = static_cast<trace::DropReason>(reason);
        most = std::max(most, count);
    }
    return all;
}

void begin_part_of_run(const Settings& settings) noexcept {
    ++recordings;
    define(part_of_run(settings));
    if (!alive.write_to(sink, settings.cause))
        note("there was no memory for all that was alive when the recording began");
}

} // namespace

constinit Following detail::following{};
constinit std::uint64_t* umadvisor_counters = private_counters;
constinit bool detail::records_stacks = false;

const char* follow(const Following& what) noexcept {
    const Quiet quiet;
    choose_clock(what.simulated_clock);
    remember_filters();
    open_checked_reads();
    if (!prepare_threads())
        return "the process has no thread-specific key left";
    following = what;
    if (!what.for_later)
        return nullptr;
    if (!sink.sleep())
        return "no memory";
    dictionary.keep();
    begin_following();
    return nullptr;
}

const char* open(const Settings& settings) noexcept {
    const Quiet quiet;
    const auto begin = [&]() noexcept {
        const char* const why = sink.create(settings);
        if (why != nullptr)
            return why;
        dictionary.begin_file();
        move_counters(sink.counters());
        if (settings.cause != trace::PauseCause::start)
            begin_part_of_run(settings);
        return why;
    };
    if (following.for_later) {
        const Guard guard(alive.mutex()); // until the file has what is alive, nothing more is made
        if (const char* const why = begin())
            return why;
    } else {
        if (const char* const why = begin())
            return why;
        begin_following();
    }
    if (!sink.outlives())
        note("no shared memory is available: a program that is killed loses what it recorded since its last "
             "synchronisations");
    return nullptr;
}

bool end() noexcept {
    const Quiet quiet;
    note_reached();
    read_clock();
    move_counters(private_counters);
    dictionary.end_file();
    lost_before = read_losses();
    sink.header()->state.store(trace::FileState::closed, std::memory_order_release);
    return sink.end();
}

const char* snapshot(const char* path, bool whole, const char* why) noexcept {
    const Quiet quiet;
    if (whole) {
        if (why != nullptr && *why != '\0')
            note("%s", why);
        return sink.copy_to(path);
    }
    static constinit Sink apart;
    Settings settings{};
    settings.path = path;
    settings.cause = trace::PauseCause::snapshot;
    settings.why = why;
    const Guard guard(alive.mutex());
    if (const char* const trouble = apart.create(settings))
        return trouble;
    dictionary.write_kept_to(apart, part_of_run(settings));
    apart.header()->first = followed_since; // two moments give the rate of the clock
    const trace::ClockPair last = read_clock_pair();
    apart.header()->last_ticks.store(last.ticks, std::memory_order_relaxed);
    apart.header()->last_monotonic_ns.store(last.monotonic_ns, std::memory_order_relaxed);
    const bool all = alive.write_to(apart, settings.cause);
    apart.header()->state.store(trace::FileState::closed, std::memory_order_release);
    return apart.end() && all ? nullptr : "the disk is full, or there is no memory";
}

Losses losses() noexcept {
    return keeps() ? read_losses() : lost_before;
}

const char* words_of(trace::DropReason reason) noexcept {
    switch (reason) {
    case trace::DropReason::disk_full:
        return "the disk is full";
    case trace::DropReason::size_cap:
        return "the trace has its full size";
    case trace::DropReason::oversized:
        return "they are too large for a chunk";
    default:
        return "there was no memory for them, or the file was removed";
    }
}

bool is_for_later() noexcept {
    return following.for_later;
}

const char* path_of_trace() noexcept {
    return sink.path();
}

void abandon() noexcept {
    detail::taking.store(Taking::nothing, std::memory_order_relaxed);
    detail::taking_page.keeps.store(false, std::memory_order_relaxed);
    // A forked child counts for itself, not for its parent, and does not hold its parent's memory.
    __atomic_store_n(&umadvisor_counters, &private_counters[0], __ATOMIC_RELEASE);
    sink.forget();
}

void close() noexcept {
    if (!keeps())
        return;
    const Quiet quiet;
    if (is_confined())
        note(
            "the program has installed a filter of system calls: from then on its threads wrote nothing to the "
            "file");
    note_reached();
    read_clock();
    if (seat.writer != nullptr && seat.writer->chunk.header != nullptr) {
        seat.writer->chunk.seal();
        sink.keep(seat.writer->chunk.memory());
    }
    dictionary.seal();
    sink.header()->state.store(trace::FileState::closed, std::memory_order_release);
    sink.close();
}

bool lost() noexcept {
    return sink.lost();
}

} // namespace umadvisor::record

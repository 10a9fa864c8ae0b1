#include "interposer/observe/cupti_watch.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/observe/cupti_buffers.hpp"
#include "interposer/observe/cupti_decoder.hpp"
#include "interposer/observe/cupti_library.hpp"
#include "interposer/observe/cupti_seat.hpp"
#include "interposer/observe/event_totals.hpp"
#include "interposer/observe/look_times.hpp"
#include "interposer/observe/managed_batch.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/stacks.hpp"
#include "interposer/runtime/own_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

namespace umadvisor::observe {

namespace cupti = residency::cupti;
using trace::ManagedEventKind;

namespace {

// The thread's pace, nanoseconds. All buffers together hold what 20 ms of faults can bring many times over.
constexpr std::uint64_t busy_nap = 20'000'000, quiet_nap = runtime::longest_sleep;
constexpr std::uint64_t longest_end = 2'000'000'000; ///< that an exit waits for the last records

constexpr std::uint64_t kind(ManagedEventKind which) {
    return std::uint64_t{1} << static_cast<unsigned>(which);
}
constexpr std::uint64_t told_kinds = kind(ManagedEventKind::host_fault) | kind(ManagedEventKind::device_fault) |
                                     kind(ManagedEventKind::migration) | kind(ManagedEventKind::thrashing) |
                                     kind(ManagedEventKind::throttling) | kind(ManagedEventKind::remote_map);

CuptiBuffers buffers;
CuptiLibrary library; ///< constant from open() on
pid_t owner = 0;      ///< a child made by _Fork(3) has run no atfork handler
sem_t wake, ended;
LookTimes* looks = nullptr;
std::atomic<bool> ending{false}; ///< the program ends
std::atomic<bool> over{false};   ///< no thread reads any more

// Used by the watch's thread alone, once it runs.
ManagedBatch* batch = nullptr;
CuptiDecoder decoder;
PairedClock cupti_clock;
trace::ManagedCounters totals;
bool totals_untold = false;
bool anything_lost = false;
bool took = false;    ///< recording was not paused at the last turn
bool writing = false; ///< at this one

/// Also called by threads of CUPTI's and of the program.
void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    *buffer = over.load(std::memory_order_relaxed) ? nullptr : buffers.take();
    *bytes = *buffer != nullptr ? CuptiBuffers::buffer_bytes : 0;
    *most_records = 0; // as many as fit
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
    buffers.complete(buffer, valid_bytes);
}

/// The closest of a few pairs: the thread may lose its core between two readings.
void read_clock() {
    constexpr int tries = 5;
    std::uint64_t nanoseconds = 0, ticks = 0, closest = ~std::uint64_t{0};
    for (int i = 0; i < tries && closest != 0; ++i) {
        std::uint64_t read = 0;
        const std::uint64_t before = record::now();
        if (library.timestamp(&read) != cupti::success)
            return;
        if (const std::uint64_t apart = record::now() - before; apart < closest) {
            closest = apart;
            nanoseconds = read;
            ticks = before + apart / 2;
        }
    }
    cupti_clock.pair(nanoseconds, ticks);
}

void tell_detail(std::uint64_t lost) {
    trace::ManagedDetail record;
    record.start = record::now();
    record.kinds = told_kinds;
    record.lost = lost;
    record::write(record);
}

/// Sums count as totals as long as no record was lost.
void tell_totals(std::uint64_t time) {
    if (!totals_untold || anything_lost || !writing)
        return;
    totals.start = time;
    record::write(totals);
    totals_untold = false;
}

/// What the program's looks up to `last` would have found, in what has been added up. Later looks wait: events
/// before them may still be reported.
void answer_looks(std::uint64_t last) {
    for (std::uint64_t time = looks->take_until(last); time != LookTimes::never; time = looks->take_until(last))
        tell_totals(time);
}

void write_batch() {
    batch->sort();
    for (std::size_t i = 0; i < batch->count; ++i) {
        const trace::ManagedEvent& event = batch->events[i];
        answer_looks(cupti_clock.ticks(event.start));
        add_event(totals, event);
        totals_untold = true;
        if (writing)
            write_event(event, cupti_clock);
    }
    batch->count = 0;
}

void keep_event(void*, const trace::ManagedEvent& event) {
    if (batch->count == ManagedBatch::most)
        write_batch();
    batch->events[batch->count++] = event;
}

void tell_lost() {
    std::size_t lost = 0;
    if (library.dropped_records(nullptr, 0, &lost) != cupti::success || lost == 0)
        return;
    anything_lost = true;
    tell_detail(lost);
}

bool read_buffers() {
    bool any = false;
    for (CuptiBuffers::Complete full = buffers.next(); full.bytes != nullptr; full = buffers.next()) {
        void* record = nullptr;
        while (library.next_record(full.bytes, full.valid_bytes, &record) == cupti::success) {
            decoder.take(*static_cast<const cupti::CounterRecord*>(record), keep_event, nullptr);
            any = true;
        }
        buffers.give_back(full.bytes);
    }
    decoder.finish(keep_event, nullptr);
    return any;
}

/// Drops what comes in a pause; at its start, writes what was before it. Returns whether anything came.
bool take_turn(bool fetch, std::uint32_t flush_flag) {
    const std::uint64_t begin = record::now();
    const bool takes = record::takes(record::Taking::everything);
    if (fetch || takes != took)
        library.flush(flush_flag);
    record::follow_objects();
    writing = takes || took;
    took = takes;
    read_clock();
    const bool any = read_buffers();
    write_batch();
    tell_lost();
    if (any)
        record::charge(record::now() - begin);
    return any;
}

/// False on a timeout.
bool wait_for(sem_t& semaphore, std::uint64_t nanoseconds) {
    const timespec until = runtime::end_of_sleep(nanoseconds);
    int answer = 0;
    do
        answer = sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until);
    while (answer != 0 && errno == EINTR);
    return answer == 0;
}

void keep_taking(void*) noexcept {
    std::uint64_t nap = busy_nap;
    while (!ending.load()) {
        const bool woken = wait_for(wake, nap);
        if (!cupti_watch().watches())
            return;
        runtime::end_if_program_is_over();
        if (!woken)
            nap = take_turn(cupti_watch().was_asked(), 0) ? busy_nap : std::min(nap * 2, quiet_nap);
    }
    take_turn(true, cupti::flush_forced);
    const std::uint64_t end = record::now();
    answer_looks(end);
    tell_totals(end);
    over.store(true);
    sem_post(&ended);
}

void ask_to_end() noexcept {
    ending.store(true);
    sem_post(&wake);
}

/// Handlers run in the reverse order: registered after cuInit, this one comes before the driver's end. CUPTI is
/// left as it is: switching it off would only take time.
void end_at_exit() {
    if (!cupti_watch().watches() || owner != getpid())
        return;
    const record::Quiet quiet;
    ask_to_end();
    wait_for(ended, longest_end);
    cupti_watch().forget();
}

const char* prepare() {
    batch = static_cast<ManagedBatch*>(base::map_pages(sizeof(ManagedBatch)));
    looks = static_cast<LookTimes*>(base::map_pages(sizeof(LookTimes)));
    if (batch == nullptr || looks == nullptr || !buffers.reserve() || sem_init(&wake, 0, 0) != 0 ||
        sem_init(&ended, 0, 0) != 0)
        return "no memory for CUPTI's records";
    return load_cupti(library);
}

/// Threads that CUPTI starts shall take no signals of the program's, as ours take none.
class SignalsHeld {
public:
    SignalsHeld() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;

private:
    sigset_t before_;
};

} // namespace

void CuptiWatch::note_look() noexcept {
    looks->add(record::now());
    asked_.store(true, std::memory_order_relaxed);
}

CuptiWatch& cupti_watch() noexcept {
    static constinit CuptiWatch watch;
    return watch;
}

const char* CuptiWatch::open() noexcept {
    const std::uint64_t begin = record::now();
    const SignalsHeld held;
    const char* trouble = prepare();
    if (trouble == nullptr)
        trouble = take_cupti_seat(library, &give_buffer, &take_buffer);
    if (trouble == nullptr) {
        owner = getpid();
        took = true;
        read_clock();
        tell_detail(0);
        watching_.store(true);
        if (std::atexit(&end_at_exit) != 0 ||
            !runtime::start_own_thread({&keep_taking, [](void*) noexcept { ask_to_end(); }, "umadvisor-um"})) {
            watching_.store(false);
            library.disable(cupti::unified_memory_counter);
            trouble = "a thread could not be started";
        }
    }
    record::charge(record::now() - begin);
    return trouble;
}

} // namespace umadvisor::observe

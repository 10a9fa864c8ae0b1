/// The recording side of the trace: one file, a chunk for each thread, definitions under a lock.
#pragma once

#include "interposer/record/clock.hpp"
#include "interposer/record/launch_memo.hpp"
#include "interposer/record/taking.hpp"
#include "trace/records.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::record {

struct Settings {
    const char* path;        ///< file to create; relative to the working directory of the call
    bool force;              ///< replace an existing file
    std::uint64_t max_bytes; ///< size cap of the file
    /// Only the last part is kept: so many bytes, or what is not older than this. Both 0: all is kept.
    std::uint64_t ring_bytes, ring_ns;
    /// Why it begins while the program runs, or is only a part; `start`: it is all of the run.
    trace::PauseCause cause;
    const char* why; ///< for the report
};

/// What there is one of, however many traces the process has.
struct Following {
    int stack_frames; ///< 0: no stacks
    bool python;      ///< Python frames with them
    /// Whether recordings may begin later: what is alive, and what is defined, is then remembered.
    bool for_later;
    /// simcuda's virtual clock in nanoseconds, or null: then the TSC where it is invariant, else
    /// CLOCK_MONOTONIC.
    std::uint64_t (*simulated_clock)();
    /// Called with the status of each call that failed, while a ring is recorded; or null.
    void (*failed)(std::uint64_t status) noexcept;
};

/// Prepares all that does not depend on a file. Returns nullptr or why not, as open(). Called once.
const char* follow(const Following& what) noexcept;

/// Creates the trace: O_EXCL unless `force`, O_NOFOLLOW, O_CLOEXEC, mode 0600. Returns nullptr, or a static or
/// thread-local text with the reason; nothing is recorded then. After follow(), and after end() again.
const char* open(const Settings& settings) noexcept;

/// Ends the trace: the file has all calls that have returned. What the program makes is followed further.
/// Returns whether the file has everything.
bool end() noexcept;

/// Writes a trace apart, closed: of the one that is written, as it is now (`whole`), else of what is alive and
/// nothing else, for which the process must be followed for later. `why`: for the report. Returns as open().
const char* snapshot(const char* path, bool whole, const char* why) noexcept;

/// Whether this is a process that may have several recordings.
bool is_for_later() noexcept;

/// Absolute path of the trace that is written, or of the last one.
const char* path_of_trace() noexcept;

/// Stops recording for good, in a forked child. What its parent has committed stays.
void abandon() noexcept;

/// Marks the trace closed; seals the calling thread's chunk and the definitions. Other threads may be in the
/// middle of a record: their chunks stay open and are read up to what is committed. Recording may go on (calls
/// from later exit handlers), and the trace stays valid. Records of threads that still run then are written to
/// the file when they next synchronise or fill a chunk; later ones are lost with the process.
void close() noexcept;

/// Whether the file was removed, truncated or put out of this process's reach. That was reported on stderr.
bool lost() noexcept;

/// Appends to the calling thread's chunk; the record is committed when this returns. Locks only if a chunk is
/// full or the thread is new. Preserves errno. Instantiated for every event record.
template <class Record>
void write(const Record& record) noexcept;

/// Appends a launch and fills in `shape.shape` and `launch.shape`: a launch with the shape of an earlier one in
/// this chunk refers to it.
void write(trace::LaunchShape& shape, trace::Launch& launch) noexcept;

/// The same, and ThreadWriter::recall() will know launches of the same key while the index of allocations has
/// this generation; `period` is the device timer's answer.
void write(trace::LaunchShape& shape, trace::Launch& launch, const LaunchKey& key, std::uint64_t generation,
           std::uint32_t period) noexcept;

/// Appends a definition, under a lock. Instantiated for every dictionary record.
template <class Record>
void define(const Record& record) noexcept;

/// Id of a text, which the first call defines. Locks.
std::uint64_t string_id(std::string_view text) noexcept;

/// A line for the report (Notice), printf format.
void note(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

/// The subject of a notice; the report gives its line of the program.
struct About {
    std::uint64_t allocation = 0; ///< id of an Alloc record; 0: no allocation
    std::uint64_t stack = 0;      ///< id of a call's stack; 0: no call
};
void note(About about, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

/// Id of the calling thread's stack, without umadvisor's own frames; 0 if stacks are off. Locks only for a new
/// frame.
std::uint64_t stack() noexcept;

/// The same for launches: if the native stack and the innermost Python frame are those of an earlier launch,
/// its Python frames are used.
std::uint64_t launch_stack() noexcept;

/// Id of a frame without callers that stands for the instruction at `address`; 0 when stacks are off. Locks as
/// stack() does, but does not wait for the loader: follow_objects() has seen what is loaded.
std::uint64_t instruction(std::uintptr_t address) noexcept;

/// A key of a stack that stack() returned, the same in each run of the same files; 0: it has none. Does not
/// lock.
std::uint64_t stack_key(std::uint64_t stack) noexcept;

namespace detail {
extern constinit bool records_stacks;
extern constinit Following following;
} // namespace detail

/// Whether stacks are recorded; if not, stack() returns 0.
inline bool records_stacks() noexcept {
    return detail::records_stacks;
}

/// Renews the header's clock pair.
void read_clock() noexcept;
/// The same, and from time to time writes to the file what all threads have committed. Cheap enough for each
/// synchronisation.
void renew_clock() noexcept;

/// Adds to the header's own_ticks.
void charge(std::uint64_t ticks) noexcept;

/// The trace's call counters, `trace::counter_slots` of them; a private array before open() and when it failed.
/// Incremented by generated code.
extern "C" std::uint64_t* umadvisor_counters __attribute__((visibility("hidden")));

} // namespace umadvisor::record

/// The settings of this process, read once from UMADVISOR_* (options.def lists them).
#pragma once

#include "trace/act_modes.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::runtime {

/// The source of events of managed memory.
enum class ManagedWitness : std::uint8_t {
    best, ///< the tools queue if the driver's release was tested, else pagemap; also pagemap with --act if no
          ///< action listens to the queue
    queue,
    pagemap,
    none,
    cupti, ///< only if named: a process can have one CUPTI subscriber
};

/// Which events of the tools queue are recorded.
enum class ManagedDetailOption : std::uint8_t {
    by_traffic, ///< light; all of them in short windows while memory moves. Not after read_options() with
                ///< --act
    light,      ///< without device faults and migrations
    faults,     ///< without migrations
    full,
};

/// Which bytes of copies are hashed.
enum class Hashing : std::uint8_t {
    sample, ///< some, and all where they were equal before
    full,
    off,
    automatic, ///< sample; off with --act, since the program is to be fast then. Not after read_options()
};

/// Whether event pairs are recorded around some of the program's work.
enum class DeviceTiming : std::uint8_t {
    off,
    on,
    automatic, ///< on; off with --act. Not after read_options()
};

/// When a process is recorded.
enum class Mode : std::uint8_t {
    record,
    standby, ///< on request
};

/// How much of the run a trace keeps; both 0: all of it.
struct RingLength {
    std::uint64_t bytes = 0, ns = 0;

    bool any() const noexcept { return bytes != 0 || ns != 0; }
};

/// What is recorded of launches.
enum class LaunchDetail : std::uint8_t {
    full,      ///< also the call stack, and the allocations that the parameters reach
    brief,     ///< kernel, shape, stream and time
    automatic, ///< full; after read_options() with --act, if no action depends on launches: brief as long
               ///< as the program has no managed memory of its own
};

/// What --act asks of a mode.
struct Asked {
    std::string_view word;  ///< as trace/act.def has it ("rewrite=SIZE+"); empty: the mode was not named
    std::uint64_t size = 0; ///< bytes, for SIZE
    bool twice = false;     ///< named twice: done even where it would be refused as unsafe
};

/// Plain values; strings point into the environment as it was at start (copied, never freed).
struct Options {
    const char* output = "";  ///< empty: PROGRAM.PID.umtrace in the working directory
    Mode mode = Mode::record; ///< when it records
    RingLength ring;
    const char* run = ""; ///< list of the run's processes, to add to; empty: none
    bool force = false;
    bool quiet = false;
    int stack_frames = 64; ///< 0: off
    bool python = true;
    ManagedWitness managed_witness = ManagedWitness::best;
    ManagedDetailOption managed_detail = ManagedDetailOption::by_traffic;
    Hashing hashing = Hashing::sample;
    DeviceTiming device_timing = DeviceTiming::on;
    LaunchDetail launches = LaunchDetail::full;
    std::uint64_t max_bytes = 0; ///< of the trace
    bool capture_range = false;  ///< records between cuProfilerStart and cuProfilerStop only
    std::uint64_t delay_ns = 0;
    std::uint64_t duration_ns = 0; ///< 0: to the end
    bool follow_fork = false;
    bool nvtx = true;
    Asked act[trace::act_mode_count];
    const char* act_plan = ""; ///< file of a plan to follow; empty: none
    bool act_auto = false;     ///< modes were not chosen one by one: used only where nothing else can help
    std::uint64_t pretend_bytes = 0;    ///< 0: none
    std::uint64_t budget_bytes = 0;     ///< of rewritten memory on each device; 0: by the mode
    const char* control = "";           ///< folder of the socket; empty: the default one; "0": no socket
    const char* when = "";              ///< policy::parse() understands it; empty: no condition
    std::uint64_t when_duration_ns = 0; ///< of each recording that it begins
    std::uint64_t when_limit = 0;       ///< recordings that it begins in an hour

    /// Whether recordings begin and end while the process runs, each with a trace of its own.
    bool has_recordings() const noexcept { return mode == Mode::standby || ring.any(); }

    const Asked& asked(trace::ActMode which) const noexcept { return act[static_cast<std::size_t>(which)]; }
    bool asks(trace::ActMode which) const noexcept { return !asked(which).word.empty(); }
    /// Whether --act names a mode with this trait, or any mode.
    bool asks(bool trace::ActModeText::*trait = nullptr) const noexcept {
        for (std::size_t i = 0; i < trace::act_mode_count; ++i)
            if (!act[i].word.empty() && (trait == nullptr || trace::act_modes[i].*trait))
                return true;
        return false;
    }

    /// Whether --act names any action.
    bool acts() const noexcept { return asks() || act_plan[0] != '\0'; }

    /// Whether any action may depend on what launches reach, and on their call sites.
    bool acts_on_launches() const noexcept {
        return asks(&trace::ActModeText::launches) || act_plan[0] != '\0';
    }
};

/// Reads the environment. Called once, from the library's constructor; tests may call it again.
void read_options() noexcept;

/// Adds the actions of a list in the form of UMADVISOR_ACT. False, and nothing changed, if it is not
/// understood.
bool parse_actions(std::string_view text, Options& to) noexcept;

/// Says what is wrong with the settings (unknown names, bad values), one line each. Called when the process
/// enters CUDA.
void warn_of_options() noexcept;

/// Calls `visit` for each UMADVISOR_* variable of the environment, without the prefix.
void for_each_setting(void (*visit)(std::string_view name, std::string_view value)) noexcept;

/// The settings. Constant after start-up.
const Options& options() noexcept;

} // namespace umadvisor::runtime

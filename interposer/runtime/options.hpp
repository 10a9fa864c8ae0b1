/// The settings of this process, read once from UMADVISOR_* (options.def lists them).
#pragma once

#include <cstdint>
#include <string_view>

namespace umadvisor::runtime {

/// Who is asked about managed memory.
enum class ManagedWitness : std::uint8_t {
    best, ///< the tools queue where the driver's release was tested, else pagemap; that, too, where the program
          ///< is repaired and no repair listens to the queue
    queue,
    pagemap,
    none,
    cupti, ///< never by itself: it has one seat a process
};

/// Which events of the tools queue are taken.
enum class ManagedDetailWanted : std::uint8_t {
    by_traffic, ///< light; all of them in short windows while memory moves. Not after read_options() where the
                ///< program is to be repaired
    light,      ///< without device faults and migrations
    faults,     ///< without migrations
    full,
};

/// Of the bytes of copies.
enum class Hashing : std::uint8_t {
    sample, ///< some, and all where they were equal before
    full,
    off,
    automatic, ///< sample; off where the program is to be repaired, which is to be fast. Not after
               ///< read_options()
};

/// Whether event pairs are recorded around some of the program's work.
enum class DeviceTiming : std::uint8_t {
    off,
    on,
    automatic, ///< on; off where the program is to be repaired. Not after read_options()
};

/// What is recorded of launches.
enum class LaunchDetail : std::uint8_t {
    full,      ///< also the call stack, and the allocations that the parameters reach
    brief,     ///< kernel, shape, stream and time
    automatic, ///< full; after read_options(), where the program is to be repaired and no repair goes by
               ///< launches: brief as long as it has no managed memory of its own
};

/// Which of the program's device allocations are answered with managed memory.
enum class Rewriting : std::uint8_t {
    none,
    from_size, ///< those of rewrite_least bytes and more
    spill,     ///< those that the card has no room for
};

/// Plain values; strings point into the environment as it was at start (copied, never freed).
struct Options {
    const char* output = ""; ///< empty: PROGRAM.PID.umtrace in the working directory
    const char* run = "";    ///< list of the run's processes, to add to; empty: none
    bool force = false;
    bool quiet = false;
    int stack_frames = 64; ///< 0: off
    bool python = true;
    ManagedWitness managed_witness = ManagedWitness::best;
    ManagedDetailWanted managed_detail = ManagedDetailWanted::by_traffic;
    Hashing hashing = Hashing::sample;
    DeviceTiming device_timing = DeviceTiming::on;
    LaunchDetail launches = LaunchDetail::full;
    std::uint64_t max_bytes = 0; ///< of the trace
    bool capture_range = false;  ///< records between cuProfilerStart and cuProfilerStop only
    std::uint64_t delay_ns = 0;
    std::uint64_t duration_ns = 0; ///< 0: to the end
    bool follow_fork = false;
    bool nvtx = true;
    bool act_prefetch = false;
    Rewriting act_rewrite = Rewriting::none;
    std::uint64_t rewrite_least = 0;  ///< bytes
    bool rewrite_asked_twice = false; ///< the same word again: also where it would be refused to be safe
    bool act_stage = false;
    const char* act_plan = ""; ///< file of a plan to follow; empty: none
    bool act_relieve = false;
    bool act_auto = false;           ///< nobody has asked for relief by name: only where nothing else can help
    std::uint64_t pretend_bytes = 0; ///< 0: none
    std::uint64_t budget_bytes = 0;  ///< of rewritten memory on each device; 0: by the mode

    /// Whether the program is to be repaired.
    bool acts() const noexcept {
        return act_prefetch || act_relieve || act_stage || act_rewrite != Rewriting::none ||
               act_plan[0] != '\0';
    }

    /// Whether any repair may go by what launches reach, and from where they are made.
    bool acts_on_launches() const noexcept { return act_prefetch || act_relieve || act_plan[0] != '\0'; }
};

/// Reads the environment. Called once, from the library's constructor; tests may call it again.
void read_options() noexcept;

/// Adds what a list as UMADVISOR_ACT has it asks for. False, and nothing changed, where it is not understood.
bool parse_actions(std::string_view text, Options& to) noexcept;

/// Says what is wrong with the settings (unknown names, bad values), one line each. Called when the process
/// enters CUDA.
void warn_of_options() noexcept;

/// Calls `visit` for each UMADVISOR_* variable of the environment, without the prefix.
void for_each_setting(void (*visit)(std::string_view name, std::string_view value)) noexcept;

/// The settings. Constant after start-up.
const Options& options() noexcept;

} // namespace umadvisor::runtime

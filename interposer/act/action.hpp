/// The actions that --act takes around the program's calls. Wrappers notify the list of actions and name none
/// of them. Without an action that is one load and a branch.
///
/// Every call of the driver that an action makes is recorded with origin umadvisor. One that is refused or
/// fails leaves the program exactly as it would have been; an action that keeps failing is switched off with
/// one Notice. Nothing happens during stream capture. All functions are thread-safe.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/runtime/options.hpp"
#include "policy/prefetch_plan.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"
#include "trace/managed_records.hpp"
#include "trace/memory_records.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace umadvisor::act {

struct DeviceCount;

/// The stream and the call site of a launch.
struct Launching {
    CUstream stream = nullptr; ///< explicit handle
    std::uint64_t stack = 0;   ///< id of the call stack
};

/// A launch of a kernel or a graph, from before the driver's call to after it. It carries what an action finds
/// before the call to what the action does after it. It is large and must not be on the program's stack.
struct LaunchScope : Launching {
    observe::Touched touched;
    bool launched = false; ///< by the driver's answer

    /// Memory that this launch is the last to reach before the host uses it: prefetched to the host after the
    /// launch.
    static constexpr std::uint32_t most_returns = 32;
    std::uint32_t return_count = 0;
    policy::PrefetchRange returns[most_returns];
    /// Migrations for the next launch are planned, and the lock of their stream is held.
    bool moves_ahead = false;
};

/// Pool and stream of a stream-ordered allocation. The pool is null if the program named none, which means that
/// of the stream's device; the stream is an explicit handle.
struct StreamOrder {
    CUmemoryPool pool;
    CUstream stream;
};

/// The program asks for device memory. An action that answers in the driver's stead fills in the record:
/// status, memory, origin, reason.
struct AllocationScope {
    trace::Alloc& record;
    CUdeviceptr* out;
    std::size_t bytes;                  ///< 0: no action can answer
    const StreamOrder* order = nullptr; ///< null: cuMemAlloc and cuMemAllocPitch
    // Set for cuMemAllocPitch, whose bytes depend on how the driver pads a row.
    std::size_t* pitch = nullptr;
    std::size_t width = 0, height = 0;
    unsigned element = 0;
    std::size_t row = 0; ///< bytes from row to row; 0: not known
};

/// The program asks for pinned memory. An action that answers in the driver's stead fills in the record:
/// status, reason.
struct HostAllocationScope {
    trace::Alloc& record; ///< with entry, memory and flags
    void** out;
    std::size_t bytes;
};

/// The program registers host memory. An action that answers in the driver's stead fills in the record: status,
/// reason.
struct RegistrationScope {
    trace::Alloc& record; ///< with entry, memory and flags
    void* address;
    std::size_t bytes;
};

/// The program frees device memory or pinned memory, or ends a registration. The allocation is no longer in the
/// index; if its id is 0, it was not there: the program may have freed it before. An action that keeps it fills
/// in the record: status, reason.
struct FreeingScope {
    trace::Free& record; ///< with entry and address
    const observe::Allocation& allocation;
};

/// The program prefetches managed memory, to a device or to the host. An action that makes it later, or has it
/// made, fills in the record: status, reason.
struct PrefetchScope {
    trace::Prefetch& record; ///< with stream, start and location
    CUdeviceptr address;
    std::size_t bytes;
    unsigned flags;
};

/// Memory that actions keep although the program has given it back. The driver counts it as in use.
struct Kept {
    std::uint64_t device_bytes = 0; ///< on the device asked about
    std::uint64_t host_bytes = 0;   ///< pinned
};

/// What a wait covered.
struct Wait {
    enum class For : std::uint8_t { part, stream, everything };
    For what;
    std::uint64_t stream; ///< explicit handle
    std::uint64_t stack;  ///< id of the call stack
    std::uint64_t begun;  ///< nanoseconds of the run; 0: not known
};

/// What one mode of --act does. A function that is null is not called.
struct Action {
    static constexpr int max_failures = 8; ///< then it is off

    const char* name;
    /// Why the mode cannot be started while the program runs; null: it can.
    const char* only_from_start = nullptr;
    /// Called after cuInit, if the mode is asked for; returns whether the action is on.
    bool (*start)(const runtime::Options& options, const DeviceCount& devices) noexcept = nullptr;

    void (*before_launch)(LaunchScope& launch) noexcept = nullptr;
    void (*after_launch)(LaunchScope& launch) noexcept = nullptr;
    /// Return whether the action has made the copy that the record describes (`stream` as an explicit handle).
    /// All actions are asked the former before any is asked the latter: whether the bytes need to move at all.
    bool (*instead_of_moving)(trace::Copy& copy) noexcept = nullptr;
    bool (*instead_of_copy)(trace::Copy& copy) noexcept = nullptr;
    /// The copy has been made, and its record is complete.
    void (*after_copy)(trace::Copy& copy) noexcept = nullptr;
    /// The program is about to set managed memory on the device. The record has all but the driver's answer.
    void (*before_set)(const trace::Set& set) noexcept = nullptr;
    /// The program has waited for the device, and the host may touch what launches left there.
    void (*after_wait)(const Wait& wait) noexcept = nullptr;
    /// All actions have seen the wait.
    void (*end_round)() noexcept = nullptr;
    /// The program has prefetched, has advised the driver, or has attached memory to a stream.
    void (*on_prefetch)(const trace::Prefetch& prefetch) noexcept = nullptr;
    void (*on_advice)(const trace::Advise& advice) noexcept = nullptr;
    void (*on_attachment)(const trace::Attach& attachment) noexcept = nullptr;
    /// A copy or a discard has left [first, first + bytes) of an allocation on the host or on the device, and
    /// it is not known which.
    void (*on_move)(std::uint64_t allocation, std::uint64_t first, std::uint64_t bytes) noexcept = nullptr;
    /// Return whether the action has answered: before the driver is asked, and after the driver had no memory.
    bool (*instead_of_allocation)(AllocationScope& allocation) noexcept = nullptr;
    bool (*instead_of_refusal)(AllocationScope& allocation) noexcept = nullptr;
    /// Return whether the action has answered, before the driver is asked.
    bool (*instead_of_host_allocation)(HostAllocationScope& allocation) noexcept = nullptr;
    bool (*instead_of_prefetch)(PrefetchScope& prefetch) noexcept = nullptr;
    /// The record has all but the driver's answer.
    bool (*instead_of_advice)(trace::Advise& advice) noexcept = nullptr;
    /// A stream-ordered allocation was made by the driver. The record is complete.
    void (*on_pool_allocation)(const trace::Alloc& allocation) noexcept = nullptr;
    // Called from the start on, also once the action is off.
    /// The program is about to destroy the pool, or to set how much it keeps. The action leaves the pool alone
    /// from now on, and no call of its own is under way when this returns.
    void (*before_pool_change)(CUmemoryPool pool) noexcept = nullptr;
    /// The program has made, set or looked up a pool, or has destroyed it.
    void (*on_pool)(const trace::Pool& pool) noexcept = nullptr;
    /// The driver has answered how much the pool keeps: puts what the program has set in the place of it.
    void (*show_threshold)(CUmemoryPool pool, cuuint64_t& bytes) noexcept = nullptr;
    /// The program is about to reset the device.
    void (*before_reset)(CUdevice device) noexcept = nullptr;
    /// Return whether the action has answered, before the driver is asked.
    bool (*instead_of_registration)(RegistrationScope& registration) noexcept = nullptr;
    bool (*instead_of_free)(FreeingScope& freeing) noexcept = nullptr;
    /// Someone needs memory: gives all that is kept back to the driver. Returns whether there was anything.
    bool (*give_back)() noexcept = nullptr;
    /// Adds what the action keeps on the device (-1: on all devices) and on the host.
    void (*add_kept)(CUdevice device, Kept& kept) noexcept = nullptr;
    /// The program shares this memory with other processes, or (0) all device memory with other devices.
    void (*on_share)(std::uint64_t address) noexcept = nullptr;
    void (*on_allocation)(const observe::Allocation& allocation, std::uint64_t stack) noexcept = nullptr;
    void (*on_free)(const observe::Allocation& allocation) noexcept = nullptr;
    /// The context has been destroyed (contexts.hpp).
    void (*on_context_end)(std::uint16_t number) noexcept = nullptr;

    std::atomic<bool> started{false}, on{false};
    std::atomic<int> failures{0};

    bool is_on() const noexcept { return on.load(std::memory_order_acquire); }
    /// A driver call of the action failed. The program goes on as if it had not been made.
    void fail(CUresult why) noexcept;
};

/// Each mode of trace/act.def has its action here, which the file of that name defines.
namespace modes {
#define MODE(name, words, ...) extern constinit Action name;
#include "trace/act.def"
} // namespace modes

namespace detail {
extern constinit std::atomic<bool> acting;
extern constinit Action* const actions[]; ///< ended by null
} // namespace detail

/// Whether any action was started.
inline bool acting() noexcept {
    return detail::acting.load(std::memory_order_acquire);
}

namespace detail {
template <auto Function, class... Arguments>
bool notify(std::atomic<bool> Action::*which, Arguments&... arguments) noexcept {
    for (Action* const* each = actions; *each != nullptr; ++each) {
        Action& action = **each;
        if (action.*Function == nullptr || !(action.*which).load(std::memory_order_acquire))
            continue;
        if constexpr (std::is_same_v<decltype((action.*Function)(arguments...)), bool>) {
            if ((action.*Function)(arguments...))
                return true;
        } else {
            (action.*Function)(arguments...);
        }
    }
    return false;
}
} // namespace detail

/// Calls this function of every action that has it and is on, in the order of the list. Functions that return a
/// bool are called until one returns true. Returns whether one did.
template <auto Function, class... Arguments>
bool notify(Arguments&&... arguments) noexcept {
    return acting() && detail::notify<Function>(&Action::on, arguments...);
}

/// The same for every action that was started, also one that is off again.
template <auto Function, class... Arguments>
bool notify_started(Arguments&&... arguments) noexcept {
    return acting() && detail::notify<Function>(&Action::started, arguments...);
}

/// The driver has no memory for a call, which is made again if this returns true: actions have given some back,
/// or other processes have.
bool give_back() noexcept;

/// Another process has none: actions give back what they keep. Returns whether there was anything.
bool give_back_own() noexcept;

/// How other processes are asked; none before the first call. Returns whether they gave anything back.
void set_siblings(bool (*ask)() noexcept) noexcept;

/// Returns what all actions keep on the device (-1: on all devices) and on the host.
Kept kept(CUdevice device) noexcept;

/// The time for a Wait that begins now; 0 without an action.
inline std::uint64_t wait_begins() noexcept {
    return acting() ? record::run_nanoseconds() : 0;
}

/// One line on stderr, and a Notice.
[[gnu::format(printf, 1, 2)]] void announce(const char* format, ...) noexcept;

/// Asks the devices what they can do and switches on what is asked for; refuses, with one line and a Notice,
/// what no device can. After cuInit.
void initialize(const runtime::Options& options) noexcept;

/// Switches a mode on or off while the program runs. `mode` is its name, or a word of --act. One that was not
/// started is started, if it can be started late. False, and `error` says why not, where that is refused: a
/// static text, valid until the next call. Called by one thread, which holds no lock of ours.
bool switch_mode(std::string_view mode, bool on, const char*& error) noexcept;

/// Whether any mode is on.
bool any_is_on() noexcept;

/// Notes which modes are on, of those that have been on, in a recording that has just begun.
void note_modes() noexcept;

/// Whether the mode, by its place in trace/act.def, is on.
bool is_on(std::size_t mode) noexcept;

/// The same where there is no trace: no action without a record of it.
void refuse_unrecorded(const runtime::Options& options) noexcept;

} // namespace umadvisor::act

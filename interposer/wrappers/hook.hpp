/// The wrapper of every recorded entry point: it only forwards while nothing is recorded, and else calls the
/// entry's policy.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/act/deferred.hpp"
#include "interposer/act/kept_registrations.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/thread_writer.hpp"

#include <cerrno>
#include <type_traits>

namespace umadvisor::wrappers {

using attach::Entry;

/// While it lives, this thread is inside a wrapper.
class InsideWrapper {
public:
    InsideWrapper() noexcept { record::seat.inside_wrapper = true; }
    ~InsideWrapper() noexcept { record::seat.inside_wrapper = false; }
    InsideWrapper(const InsideWrapper&) = delete;
    InsideWrapper& operator=(const InsideWrapper&) = delete;
};

/// Keeps errno as it is at its construction: the program must not see ours.
class KeepErrno {
public:
    KeepErrno() noexcept : kept_(errno) {}
    ~KeepErrno() noexcept { errno = kept_; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

private:
    int kept_;
};

/// The function whose address the program gets for entry E. `Policy::call<E>` has the entry's own signature.
template <Entry E, class Policy, class Function>
struct Hook;

template <Entry E, class Policy, class... Arguments>
struct Hook<E, Policy, CUresult (*)(Arguments...)> {
    static CUresult CUDAAPI call(Arguments... arguments) noexcept {
        if constexpr (Policy::from == record::Taking::nothing) {
            return act(arguments...); // inlined, since it may read the return address
        } else {
            // One pointer for both: gcc makes a single jump of it and does not move the arguments. While calls
            // of this policy are not recorded, that is all they cost.
            const auto target = record::may_take(Policy::from) ? &recorded : attach::forwarded<E>();
            return target(arguments...);
        }
    }

private:
    [[gnu::hot]] static CUresult CUDAAPI recorded(Arguments... arguments) noexcept {
        if (record::see_trace() == record::Taking::by_clock && !record::takes(Policy::from)) [[unlikely]]
            return attach::forwarded<E>()(arguments...);
        return act(arguments...);
    }

    [[gnu::always_inline]] static inline CUresult act(Arguments... arguments) noexcept {
        if (record::seat.inside_wrapper || !record::has_thread_pages()) [[unlikely]]
            return attach::real<E>()(arguments...);
        const InsideWrapper inside;
        if (act::calls_are_looked_at()) [[unlikely]] {
            if constexpr (!Policy::is_deferred)
                if (act::calls_are_deferred())
                    act::make_deferred_calls();
            act::see_registrations<E>(arguments...);
        }
        return Policy::template call<E>(arguments...);
    }
};

/// A policy that acts while calls are recorded. One whose calls an action may make later sets `is_deferred`: it
/// has those that are deferred made itself, before it makes its own. So does one whose calls may come before
/// them.
struct WhileRecording {
    static constexpr bool is_deferred = false;
    static constexpr record::Taking from = record::Taking::everything;
};

/// A policy that acts in a pause, too, because records after the pause refer to what it records.
struct WhilePaused {
    static constexpr bool is_deferred = false;
    static constexpr record::Taking from = record::Taking::state;
};

/// A policy that has to act before there is a trace, too.
struct Always {
    static constexpr bool is_deferred = false;
    static constexpr record::Taking from = record::Taking::nothing;
};

/// What the driver answered through `out`, or zero. A call that failed has written nothing there, and `out` may
/// be an invalid address.
template <class Value>
Value answered(CUresult result, const Value* out) noexcept {
    return result == CUDA_SUCCESS && out != nullptr ? *out : Value{};
}

/// The handle as traces name it.
template <class Handle>
std::uint64_t number(Handle* handle) noexcept {
    return reinterpret_cast<std::uint64_t>(handle);
}

/// The stream as traces name it: the per-thread default stream by its handle.
template <Entry E>
trace::StreamId stream_of(CUstream stream) noexcept {
    if (stream == nullptr && attach::uses_per_thread_stream(E))
        stream = CU_STREAM_PER_THREAD;
    return trace::StreamId{number(stream)};
}

/// Makes `call` for entry E and fills in what every record of a call has. Makes it again if the driver had no
/// memory and actions, then other processes, have given some back. Returns the answer.
template <Entry E, class Record, class Call>
CUresult timed_call(Record& record, const Call& call) noexcept {
    record.entry = attach::index(E);
    record.start = record::now();
    CUresult result = call();
    for (int i = 0; i < 2 && result == CUDA_ERROR_OUT_OF_MEMORY && act::give_back(); ++i)
        result = call();
    record.duration = record::now() - record.start;
    record.status = static_cast<std::uint64_t>(result);
    return result;
}

/// The same with the driver's own function.
template <Entry E, class Record, class... Arguments>
CUresult timed(Record& record, Arguments... arguments) noexcept {
    return timed_call<E>(record, [&] { return attach::real<E>()(arguments...); });
}

/// A policy that only records calls, each with one record, which `Finish` writes. The policy's fill(record,
/// arguments...) enters the arguments. Its answer(record, out, ...), if it has one, enters the driver's answer
/// to a call that succeeded, through `out`, the first argument. Both get streams as traces name them.
template <class Policy, auto Finish, auto Action, class When = WhilePaused>
struct Recorded;

template <class Policy, class Record, void (*Finish)(Record&) noexcept, auto Action, class When>
struct Recorded<Policy, Finish, Action, When> : When {
    template <Entry E, class First, class... Others>
    static CUresult call(First first, Others... others) noexcept {
        Record record;
        record.action = Action;
        Policy::fill(record, named<E>(first), named<E>(others)...);
        const CUresult result = timed<E>(record, first, others...);
        if (result == CUDA_SUCCESS && first != First{})
            Policy::answer(record, named<E>(first), named<E>(others)...);
        Finish(record);
        return result;
    }
    template <class... Arguments>
    static void answer(const Record&, const Arguments&...) noexcept {}

private:
    template <Entry E, class Argument>
    static auto named(Argument argument) noexcept {
        if constexpr (std::is_same_v<Argument, CUstream>)
            return stream_of<E>(argument);
        else
            return argument;
    }
};

} // namespace umadvisor::wrappers

/// Managed memory: the program's calls on it beyond prefetch and advice, and what was seen to happen to it.
/// Since version 1.1.
#pragma once

#include "trace/event_records.hpp"

namespace umadvisor::trace {

/// What a range holds is of no more use (cuMemDiscardBatchAsync).
struct Discard : PlainCall {
    static constexpr Type type = Type::discard;
    static constexpr std::string_view name = "Discard";
    std::uint64_t address = 0, bytes = 0;
    AllocationId allocation{};
    StreamId stream{};
    std::uint64_t batch = 0; ///< as in Copy

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("address", r.address);
        v.number("bytes", r.bytes);
        v.number("allocation", r.allocation);
        v.number("stream", r.stream);
        v.number("batch", r.batch);
        v.number("status", r.status);
    }
};

/// Who may use managed memory: all, the host, one stream (cuStreamAttachMemAsync).
struct Attach : PlainCall {
    static constexpr Type type = Type::attach;
    static constexpr std::string_view name = "Attach";
    std::uint64_t address = 0, bytes = 0; ///< 0 bytes: the whole allocation
    AllocationId allocation{};
    StreamId stream{};
    std::uint64_t flags = 0; ///< CUmemAttach_flags

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("address", r.address);
        v.number("bytes", r.bytes);
        v.number("allocation", r.allocation);
        v.number("stream", r.stream);
        v.number("flags", r.flags);
        v.number("status", r.status);
    }
};

/// One thing that happened to managed memory, whoever saw it.
struct ManagedEvent {
    static constexpr Type type = Type::managed_event;
    static constexpr std::string_view name = "ManagedEvent";
    std::uint64_t start = 0;
    ManagedEventKind kind{};
    std::uint64_t address = 0, bytes = 0;
    /// Processors: 0 the host, n + 1 device n. A fault is `to` the processor that had it.
    std::uint64_t from = 0, to = 0;
    std::uint64_t cause = 0;    ///< FaultAccess, MigrationCause or RemoteMapCause, as the kind has it
    std::uint64_t count = 0;    ///< faults it stands for beyond the first: like it and on neighbouring pages
    std::uint64_t duration = 0; ///< of migrations and throttlings, ticks
    std::uint64_t code = 0;     ///< frame: the instruction of a host fault
    std::uint64_t thread = 0;   ///< of a host fault, as gettid(2) has it

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("start", r.start);
        v.number("kind", r.kind);
        v.number("address", r.address);
        v.number("bytes", r.bytes);
        v.number("from", r.from);
        v.number("to", r.to);
        v.number("cause", r.cause);
        v.number("count", r.count);
        v.number("duration", r.duration);
        v.number("code", r.code);
        v.number("tid", r.thread);
    }
};

/// The driver's own totals since it was first asked, of all managed memory; exact. Recorded where a call of the
/// program finds them changed. From CUPTI: sums of its records up to such a call, and none once any were lost.
struct ManagedCounters {
    static constexpr Type type = Type::managed_counters;
    static constexpr std::string_view name = "ManagedCounters";
    std::uint64_t start = 0;
    std::uint64_t bytes_to_device = 0, bytes_to_host = 0;
    std::uint64_t host_faults = 0, device_faults = 0;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("start", r.start);
        v.number("bytes_to_device", r.bytes_to_device);
        v.number("bytes_to_host", r.bytes_to_host);
        v.number("host_faults", r.host_faults);
        v.number("device_faults", r.device_faults);
    }
};

/// Which kinds of event are recorded from `start` on. None: the driver does not count either.
struct ManagedDetail {
    static constexpr Type type = Type::managed_detail;
    static constexpr std::string_view name = "ManagedDetail";
    std::uint64_t start = 0;
    std::uint64_t kinds = 0; ///< bit n: ManagedEventKind n
    std::uint64_t lost = 0;  ///< events that the driver or CUPTI dropped since the last such record

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("start", r.start);
        v.number("kinds", r.kinds);
        v.number("lost", r.lost);
    }
};

/// The source of managed memory's events, why there is none better, and the driver's settings. Times in
/// microseconds.
struct ManagedSource {
    static constexpr Type type = Type::managed_source;
    static constexpr std::string_view name = "ManagedSource";
    ManagedSourceKind source{};
    std::uint64_t parameters_known = 0; ///< 1: what follows was read
    std::uint64_t prefetch = 0, prefetch_threshold = 0;
    std::uint64_t thrashing = 0, thrashing_threshold = 0, thrashing_pin_threshold = 0, thrashing_lapse = 0,
                  thrashing_nap = 0, thrashing_epoch = 0, thrashing_pin = 0;
    std::string_view driver_release; ///< "580.159.04"; empty: not known
    std::string_view trouble;        ///< of sources that come before it; empty: none

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("source", r.source);
        v.number("parameters_known", r.parameters_known);
        v.number("prefetch", r.prefetch);
        v.number("prefetch_threshold", r.prefetch_threshold);
        v.number("thrashing", r.thrashing);
        v.number("thrashing_threshold", r.thrashing_threshold);
        v.number("thrashing_pin_threshold", r.thrashing_pin_threshold);
        v.number("thrashing_lapse", r.thrashing_lapse);
        v.number("thrashing_nap", r.thrashing_nap);
        v.number("thrashing_epoch", r.thrashing_epoch);
        v.number("thrashing_pin", r.thrashing_pin);
        v.text("driver_release", r.driver_release);
        v.text("trouble", r.trouble);
    }
};

/// One end of a few rounds of a thread in which --act prefetch brings nothing, so that their time can be held
/// against that of rounds in which it does. Since version 1.1.
struct Comparison {
    static constexpr Type type = Type::comparison;
    static constexpr std::string_view name = "Comparison";
    std::uint64_t start = 0;  ///< ticks
    std::uint64_t stack = 0;  ///< of the launch that each round begins with
    std::uint64_t leaves = 0; ///< 1: they begin
    std::uint64_t whole = 0;  ///< at the end, 1: another round has begun; 0: none has come in time

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("start", r.start);
        v.number("stack", r.stack);
        v.number("leaves", r.leaves);
        v.number("whole", r.whole);
    }
};

/// Something that --act prefetch has learned: what the host takes back after a wait. Of several with one key
/// the last holds.
struct HostReturn {
    static constexpr Type type = Type::host_return;
    static constexpr std::string_view name = "HostReturn";
    std::uint64_t time = 0; ///< ticks
    std::uint64_t key = 0;  ///< of the wait, what it waited for and the allocation: the same in each run
    std::uint64_t first = 0, last = 0;  ///< bytes of the allocation, [first, last)
    std::uint64_t bytes = 0;            ///< of the allocation
    std::uint64_t stack = 0;            ///< of the wait
    std::uint64_t allocation_stack = 0; ///< of the call that allocated
    std::uint64_t given_up = 0;         ///< 1: it holds no more

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("time", r.time);
        v.number("key", r.key);
        v.number("first", r.first);
        v.number("last", r.last);
        v.number("bytes", r.bytes);
        v.number("stack", r.stack);
        v.number("allocation_stack", r.allocation_stack);
        v.number("given_up", r.given_up);
    }
};

} // namespace umadvisor::trace

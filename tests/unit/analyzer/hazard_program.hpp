/// Programs whose work on the same bytes may overlap: what the tests of UMA-602 to 604 are made of.
#pragma once

#include "found.hpp"

#include <initializer_list>

namespace umadvisor::test::hazards {

using trace::SyncKind;

inline constexpr std::uint64_t one = 0x5000, two = 0x6000, three = 0x7000, legacy = 0; ///< streams
inline constexpr std::uint64_t done = 0x9000, other_event = 0xa000;
inline constexpr std::uint64_t running_ns = 10 * ms; ///< of a kernel: longer than what the host does beside it

/// Of what is copied.
struct Piece {
    std::uint64_t hash = 0;
    std::uint64_t memory = 0, host = 0;        ///< 0: the usual ones
    std::uint64_t offset = 0, bytes = 8 * mib; ///< in the device's memory
};

/// Two streams, and 8 MiB of memory that is copied.
struct Program : Scenario {
    std::uint64_t upload_at = stack(), use_at = stack(), launch_at = stack(), free_at = stack();
    std::uint64_t writer = function("_Z4fillPfi"), reader = function("_Z4lookPKfPf"), plain = function("fill");
    std::uint64_t source = pinned(), target = pinned(), data = device(), other = device();
    std::uint64_t scratch = device(1024);
    std::uint64_t uploaded = 0; ///< start of the latest upload

    explicit Program(bool blocking = false) {
        for (const std::uint64_t handle : {one, two})
            make_stream(handle, !blocking);
    }
    std::uint64_t pinned() { return allocate(8 * mib, Memory::pinned, stack()); }
    std::uint64_t device(std::uint64_t bytes = 8 * mib) { return allocate(bytes, Memory::device, stack()); }

    /// A kernel that runs for long.
    Program& run(std::uint64_t stream, std::uint64_t function,
                 std::initializer_list<std::uint64_t> allocations) {
        launch(function, allocations, {.stream = stream, .stack = launch_at, .ns = running_ns});
        return *this;
    }
    /// One that keeps the stream busy and has nothing to do with the rest.
    Program& busy(std::uint64_t stream) { return run(stream, writer, {scratch}); }

    Program& upload(std::uint64_t stream, const Piece& piece = {}) {
        uploaded = now;
        copy(piece.bytes, 3 * us,
             {.source = Memory::pinned,
              .stack = upload_at,
              .asynchronous = true,
              .stream = stream,
              .from = piece.host != 0 ? piece.host : source,
              .to = piece.memory != 0 ? piece.memory : data,
              .offset = piece.offset,
              .part = piece.hash});
        return *this;
    }
    Program& download(std::uint64_t stream, const Piece& piece = {}) {
        Scenario::download(piece.bytes, 3 * us,
                           {.stack = use_at,
                            .asynchronous = true,
                            .stream = stream,
                            .from = piece.memory != 0 ? piece.memory : data,
                            .to = piece.host != 0 ? piece.host : target,
                            .offset = piece.offset});
        return *this;
    }
    Program& set_async(std::uint64_t stream, std::uint64_t allocation, std::uint64_t bytes = 8 * mib,
                       std::uint64_t value = 0) {
        set(allocation, bytes, {.stack = use_at, .value = value, .stream = stream, .asynchronous = true});
        return *this;
    }
    /// What the recorder says before a call where the source of an upload holds something else.
    Program& look_again(std::uint64_t upload, std::uint64_t hash, std::uint32_t thread = 1) {
        trace::Content content{.start = now, .copy = upload, .source_changed = 1};
        content.content.part_hash = hash;
        content.content.look_duration = 1000;
        builder.add(content, thread);
        now += 2000;
        return *this;
    }
    Program& look_again(std::uint64_t hash) { return look_again(uploaded, hash); }
    Program& record(std::uint64_t event, std::uint64_t stream) {
        record_event(event, stream);
        return *this;
    }
    Program& destroy(std::uint64_t event) {
        call(trace::Event{.action = trace::EventAction::destroy, .event = event}, "cuEventDestroy_v2");
        return *this;
    }
    Program& join(std::uint64_t stream, std::uint64_t event) {
        act_on_stream(stream, trace::StreamAction::wait_event, event);
        return *this;
    }
    Program& wait(SyncKind kind, std::uint64_t object, std::uint64_t status = 0) {
        synchronize({.kind = kind, .object = object, .status = status});
        return *this;
    }
    /// The host computes, and the device catches up without a call that says so.
    Program& rest() {
        now += 20 * ms;
        return *this;
    }

    Found told() {
        if (!std::exchange(finished_, true)) {
            synchronize({.duration = 1000});
            tell_times();
        }
        return of_rule(findings_of(*this), "UMA-6");
    }

private:
    bool finished_ = false;
};

using Way = void (*)(Program&);

/// How a host learns that the work of stream one is done.
inline constexpr Way ways_to_know[] = {
    [](Program& p) { p.wait(SyncKind::stream, one); },
    [](Program& p) { p.wait(SyncKind::context, 0); },
    [](Program& p) { p.record(done, one).wait(SyncKind::event, done); },
    [](Program& p) { p.record(done, one).rest().wait(SyncKind::event_query, done); }, // asked, and found done
    [](Program& p) { p.wait(SyncKind::stream_query, one); },
    [](Program& p) { p.record(done, one).join(two, done).wait(SyncKind::stream, two); },
    [](Program& p) { p.free(p.scratch); },
    [](Program& p) { // another thread waited, and told this one
        p.synchronize({.kind = SyncKind::stream, .object = one, .duration = 12 * ms, .thread = 2});
    },
    [](Program& p) { // a host function behind the copy told it
        p.host_function(one);
        p.rest();
    },
    [](Program& p) { p.rest(); }, // a flag that work of the device sets
};

} // namespace umadvisor::test::hazards

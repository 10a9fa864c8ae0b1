/// Which event records are about something that lives on after the call, and what ends it. A recording that
/// begins later needs the first ones of what is still alive.
#pragma once

#include "interposer/base/hash.hpp"
#include "trace/records.hpp"

#include <cstdint>

namespace umadvisor::record {

/// What a record refers to, by its kind and number. Kinds are those of records, so handles of two kinds may be
/// equal.
constexpr std::uint64_t life_of(trace::Type kind, std::uint64_t number, std::uint64_t more = 0) noexcept {
    return base::hash(number, static_cast<std::uint64_t>(kind) << 56 ^ more);
}

/// The same of what begins with a call of this action, where records of one kind are about several things.
template <class Action>
constexpr std::uint64_t life_from(trace::Type kind, Action first, std::uint64_t number) noexcept {
    return life_of(kind, number, static_cast<std::uint64_t>(first) + 1);
}

/// `Lives` has keep(key) and end(key). Records without a function here are about nothing that lives on.
template <class Lives>
void live(Lives& lives, const trace::Alloc& r) noexcept {
    if (r.allocation != trace::AllocationId{} && r.captured == 0)
        lives.keep(life_of(r.type, static_cast<std::uint64_t>(r.allocation)));
}

template <class Lives>
void live(Lives& lives, const trace::Advise& r) noexcept {
    // CUmem_advise numbers what sets an advice and what unsets it one after the other, from 1.
    const std::uint64_t key = life_of(r.type, r.address, (r.advice + 1) / 2);
    r.advice % 2 != 0 ? lives.keep(key) : lives.end(key);
}

template <class Lives>
void live(Lives& lives, const trace::Attach& r) noexcept {
    lives.keep(life_of(r.type, r.address));
}

template <class Lives>
void live(Lives& lives, const trace::Free& r) noexcept {
    if (r.allocation == trace::AllocationId{} || r.captured != 0)
        return;
    lives.end(life_of(trace::Type::alloc, static_cast<std::uint64_t>(r.allocation)));
    lives.end(life_of(trace::Type::attach, r.address));
    for (std::uint64_t advice = 1; advice <= 3; ++advice)
        lives.end(life_of(trace::Type::advise, r.address, advice));
}

template <class Lives>
void live(Lives& lives, const trace::Stream& r) noexcept {
    const std::uint64_t key = life_of(r.type, static_cast<std::uint64_t>(r.stream));
    if (r.action == trace::StreamAction::create)
        lives.keep(key);
    else if (r.action == trace::StreamAction::destroy)
        lives.end(key);
}

template <class Lives>
void live(Lives& lives, const trace::Event& r) noexcept {
    if (r.action == trace::EventAction::create)
        lives.keep(life_of(r.type, r.event));
    else if (r.action == trace::EventAction::destroy)
        lives.end(life_of(r.type, r.event));
}

template <class Lives>
void live(Lives& lives, const trace::GpuModule& r) noexcept {
    const std::uint64_t key = life_of(r.type, r.module);
    r.action == trace::ModuleAction::load ? lives.keep(key) : lives.end(key);
}

/// A thread's current context is not here: each thread records it again (thread_writer.cpp).
template <class Lives>
void live(Lives& lives, const trace::Context& r) noexcept {
    using enum trace::ContextAction;
    switch (r.action) {
    case create:
    case from_green:
        return lives.keep(life_from(r.type, create, r.context));
    case destroy:
        return lives.end(life_from(r.type, create, r.context));
    case retain_primary:
        return lives.keep(life_from(r.type, retain_primary, r.device));
    case reset_primary:
        return lives.end(life_from(r.type, retain_primary, r.device));
    case create_green:
        return lives.keep(life_from(r.type, create_green, r.green));
    case destroy_green:
        return lives.end(life_from(r.type, create_green, r.green));
    case set_flags:
        return lives.keep(life_from(r.type, set_flags, r.context != 0 ? r.context : r.device));
    case release_primary: // another may have retained it
    case set_current:
        return;
    }
}

template <class Lives>
void live(Lives& lives, const trace::Pool& r) noexcept {
    using enum trace::PoolAction;
    switch (r.action) {
    case create:
    case get:
    case import_pool:
        return lives.keep(life_of(r.type, r.pool));
    case destroy:
        return lives.end(life_of(r.type, r.pool));
    case set_attribute:
        return lives.keep(life_of(r.type, r.pool, 1 + r.attribute));
    case set_access:
        return lives.keep(life_of(r.type, r.pool, 1ull << 32 | r.location_id));
    case set:
        return lives.keep(life_of(r.type, r.location_id, 1ull << 33));
    case trim:
    case export_pool:
    case export_pointer:
    case import_pointer:
        return;
    }
}

template <class Lives>
void live(Lives& lives, const trace::Peer& r) noexcept {
    const std::uint64_t key = life_of(r.type, r.device, 1 + r.peer);
    r.action == trace::PeerAction::enable ? lives.keep(key) : lives.end(key);
}

template <class Lives>
void live(Lives& lives, const trace::VirtualMemory& r) noexcept {
    using enum trace::VirtualMemoryAction;
    switch (r.action) {
    case reserve:
        return lives.keep(life_from(r.type, reserve, r.address));
    case free:
        return lives.end(life_from(r.type, reserve, r.address));
    case create:
    case import_handle:
        return lives.keep(life_from(r.type, create, r.handle));
    case release:
        return lives.end(life_from(r.type, create, r.handle));
    case map:
        return lives.keep(life_from(r.type, map, r.address));
    case unmap:
        lives.end(life_from(r.type, set_access, r.address));
        return lives.end(life_from(r.type, map, r.address));
    case set_access:
        return lives.keep(life_from(r.type, set_access, r.address));
    case retain:
    case export_handle:
    case map_array:
        return;
    }
}

template <class Lives>
void live(Lives& lives, const trace::Ipc& r) noexcept {
    if (r.action == trace::IpcAction::open_memory)
        lives.keep(life_of(r.type, r.address));
    else if (r.action == trace::IpcAction::close_memory)
        lives.end(life_of(r.type, r.address));
}

/// Whether a record may be about something that lives on.
template <class Record, class Lives>
concept Lived = requires(Lives& lives, const Record& record) {
    live(lives, record);
};

} // namespace umadvisor::record

#include "interposer/act/registrations.hpp"

#include "interposer/act/host.hpp"
#include "interposer/act/in_context.hpp"
#include "interposer/act/kept_registrations.hpp"
#include "interposer/act/pinned_blocks.hpp"
#include "interposer/act/unmapping.hpp"
#include "interposer/act/work_of_context.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <ctime>
#include <iterator>
#include <unistd.h>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constexpr std::uint32_t returns_before = 2;
/// So many that had to be ended, and as many more as were answered: the program uses the memory meanwhile.
constexpr std::uint32_t most_lost = 4;
constexpr std::uint32_t compared_every = 64; ///< ends of one registration, which the driver answers
constexpr std::uint64_t old_after = 256;     ///< other registrations
constexpr std::uint64_t old_after_ns = 2'000'000'000;
constexpr timespec short_pause{0, 1'000};

/// A registration that the program makes again, or may. Its pages are watched from the first time on that it is
/// kept, until the driver ends it.
struct Registration {
    enum class State : std::uint8_t {
        unused,
        seen,    ///< the driver answers
        watched, ///< the program has it
        kept,    ///< the driver has it alone
        keeping, ///< the program ends it: it may become kept
        ending,  ///< the driver ends it
    };
    State state = State::unused;
    bool ended = false; ///< by the program
    std::uint16_t context = 0;
    std::uint32_t flags = 0;
    std::uint64_t address = 0, bytes = 0;
    CUcontext handle = nullptr;
    std::uint64_t turn = 0;  ///< of the latest registration or end
    std::uint64_t since = 0; ///< nanoseconds; kept
    std::uint32_t returns = 0, ends = 0, reused = 0, lost = 0;

    bool is_held() const noexcept { return state > State::seen; }
};
using State = Registration::State;

record::Mutex registrations_mutex{record::Lock::actions}; ///< guards what follows
constinit Registration registrations[most_watched];
constinit int kept_count = 0;
constinit std::uint64_t registration_turn = 0;
constinit std::uint64_t registration_budget = 0;
constinit bool has_registration_budget = false;
constinit std::atomic<std::uint64_t> registration_bytes{0}; ///< kept
constinit std::atomic<bool> keeps_none{false};
constinit std::atomic_flag refusal_noted{};

std::size_t number_of(const Registration& each) {
    return static_cast<std::size_t>(&each - registrations);
}

std::uint64_t page_bytes() {
    static constinit std::atomic<std::uint64_t> known{0};
    if (known.load(std::memory_order_relaxed) == 0)
        known.store(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)), std::memory_order_relaxed);
    return known.load(std::memory_order_relaxed);
}

/// Whether both have bytes of one page.
bool shares_pages(const Registration& each, std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t page = page_bytes();
    return each.address / page <= (address + bytes - 1) / page &&
           address / page <= (each.address + each.bytes - 1) / page;
}

/// With the lock held, as those that follow.
void enter_kept(Registration& each, bool kept) {
    registration_bytes.fetch_add(kept ? each.bytes : 0 - each.bytes, std::memory_order_relaxed);
    kept_count += kept ? 1 : -1;
    set_attention(Attention::registrations, kept_count != 0);
}

Registration* find_registration(std::uint64_t address, std::uint64_t bytes, std::uint64_t flags,
                                std::uint16_t context) {
    for (Registration& each : registrations)
        if (each.state != State::unused && each.address == address && each.bytes == bytes &&
            each.flags == flags && each.context == context)
            return &each;
    return nullptr;
}

/// The driver has made one. The one that was seen longest ago gives way to a new one.
void note_registration(std::uint64_t address, std::uint64_t bytes, std::uint64_t flags, std::uint16_t context) {
    if (Registration* const known = find_registration(address, bytes, flags, context)) {
        known->returns += known->ended;
        known->ended = false;
        known->turn = registration_turn;
        return;
    }
    Registration* oldest = nullptr;
    for (Registration& each : registrations)
        if (!each.is_held() && (oldest == nullptr || each.turn < oldest->turn))
            oldest = &each;
    if (oldest == nullptr)
        return;
    *oldest = {};
    oldest->state = State::seen;
    oldest->context = context;
    oldest->flags = static_cast<std::uint32_t>(flags);
    oldest->address = address;
    oldest->bytes = bytes;
    oldest->turn = registration_turn;
}

/// The memory need not exist any more; the driver's registration does. Without the lock, as those that follow.
void end_with_driver(const Registration& each) {
    unwatch_mapping(number_of(each));
    const observe::RelaxedCapture relaxed;
    const InContext inside(each.handle);
    if (!inside)
        return; // it is gone, and the registration with it
    const CUresult answer = real<Entry::cuMemHostUnregister>()(reinterpret_cast<void*>(each.address));
    if (answer != CUDA_SUCCESS)
        modes::pinned.fail(answer);
}

/// Other threads end some, for calls of their own: waits until none of these is as `asked` for under the lock.
template <class Asked>
void wait_for_ends(const Asked& asked) {
    for (;;) {
        bool ends = false;
        {
            const record::Guard guard(registrations_mutex);
            for (const Registration& each : registrations)
                ends |= each.state == State::ending && asked(each);
        }
        if (!ends)
            return;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &short_pause, nullptr);
    }
}

/// Ends the kept ones that are `asked` for under the lock, one by one. Returns whether there were any. Those
/// that other threads end may still be there at the return.
template <class Asked>
bool end_kept(const Asked& asked) {
    bool any = false;
    for (Registration& each : registrations) {
        {
            const record::Guard guard(registrations_mutex);
            if (each.state != State::kept || !asked(each))
                continue;
            each.state = State::ending;
        }
        end_with_driver(each);
        any = true;
        const record::Guard guard(registrations_mutex);
        enter_kept(each, false);
        each.state = State::seen;
    }
    return any;
}

/// Before a call of the program that names this memory: the driver has no registration of it at the return but
/// the program's own.
void end_kept_at(std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0)
        return;
    const auto shares = [&](const Registration& each) { return shares_pages(each, address, bytes); };
    end_kept([&](Registration& each) {
        const bool ends = shares(each);
        each.lost += ends;
        return ends;
    });
    wait_for_ends(shares);
}

bool knows_flags(std::uint64_t flags) {
    return (flags & ~std::uint64_t{CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP}) == 0;
}

/// Returns whether the program has one again that was kept.
bool hand_out_registration(std::uint64_t address, std::uint64_t bytes, std::uint64_t flags,
                           std::uint16_t context) {
    {
        const record::Guard guard(registrations_mutex);
        ++registration_turn;
        Registration* const known = find_registration(address, bytes, flags, context);
        if (known == nullptr || known->state != State::kept || mapping_has_changed(number_of(*known)))
            return false;
        known->state = State::watched;
        known->ended = false;
        known->turn = registration_turn;
        ++known->returns;
        ++known->reused;
        enter_kept(*known, false);
    }
    return true;
}

/// What the program has registered is to be the driver's alone.
bool is_worth_keeping(Registration& each) {
    ++each.ends;
    if (!has_registration_budget) {
        has_registration_budget = true;
        registration_budget = host_share() / 4;
    }
    const std::uint64_t kept = kept_pinned_bytes() + kept_registration_bytes();
    if (!modes::pinned.is_on() || each.returns < returns_before || each.lost >= most_lost + each.reused ||
        each.ends % compared_every == 0 || each.bytes > registration_budget ||
        kept > registration_budget - each.bytes || !record::takes(record::Taking::everything))
        return false;
    for (const Registration& other : registrations) // whose pages could not be watched alone
        if (&other != &each && other.is_held() && shares_pages(other, each.address, each.bytes))
            return false;
    return true;
}

/// Watches the pages, unless they are watched already, and waits as the driver does. Returns whether the
/// registration may be kept.
bool prepare_to_keep(Registration& each, bool watched) {
    int why = 0;
    if (watched) {
        if (mapping_has_changed(number_of(each)))
            return false;
    } else if (!watch_mapping(number_of(each), each.address, each.bytes, why)) {
        if (why != 0 && !refusal_noted.test_and_set())
            record::note("--act pinned: registrations are not kept, since the kernel does not say when memory "
                         "is unmapped (userfaultfd, errno %d)",
                         why);
        return false;
    }
    return !has_several_contexts() && wait_as_free_does(each.context) == CUDA_SUCCESS;
}

} // namespace

void end_registrations_at(std::uint64_t address, std::uint64_t bytes) noexcept {
    const record::Quiet quiet;
    end_kept_at(address, bytes);
}

void end_unmapped_registrations() noexcept {
    const record::Quiet quiet;
    end_kept([](const Registration& each) { return mapping_has_changed(number_of(each)); });
}

void end_all_registrations() noexcept {
    const record::Quiet quiet;
    end_kept([](Registration& each) {
        ++each.lost;
        return true;
    });
    wait_for_ends([](const Registration&) { return true; });
}

void keep_no_registrations() noexcept {
    keeps_none.store(true, std::memory_order_relaxed);
}

bool register_again(RegistrationScope& asked) noexcept {
    trace::Alloc& record = asked.record;
    const auto address = reinterpret_cast<std::uint64_t>(asked.address);
    if (keeps_none.load(std::memory_order_relaxed) || address == 0 || asked.bytes == 0)
        return false;
    const record::Quiet quiet;
    const std::uint16_t context = observe::current_context_number();
    if (!modes::pinned.is_on() || !observe::nothing_is_captured() || context == 0 ||
        !knows_flags(record.flags) || record.entry != attach::index(Entry::cuMemHostRegister_v2)) {
        end_kept_at(address, asked.bytes);
        return false;
    }
    if (registrations_are_kept() && error_of_work(context) != CUDA_SUCCESS) { // the driver answers with that
        end_kept_at(address, asked.bytes);
        return false;
    }
    if (hand_out_registration(address, asked.bytes, record.flags, context)) {
        record.status = CUDA_SUCCESS;
        record.reason = trace::Reason::reused_registration;
        return true;
    }
    end_kept_at(address, asked.bytes);
    const auto call = [&] {
        return real<Entry::cuMemHostRegister_v2>()(asked.address, asked.bytes,
                                                   static_cast<unsigned>(record.flags));
    };
    CUresult answer = call();
    if (answer == CUDA_ERROR_OUT_OF_MEMORY && act::give_back())
        answer = call();
    record.status = static_cast<std::uint64_t>(answer);
    if (answer == CUDA_SUCCESS) {
        const record::Guard guard(registrations_mutex);
        note_registration(address, asked.bytes, record.flags, context);
    }
    return true;
}

bool keep_registration(FreeingScope& freeing) noexcept {
    trace::Free& record = freeing.record;
    if (record.entry != attach::index(Entry::cuMemHostUnregister) || record.address == 0)
        return false;
    const record::Quiet quiet;
    if (registrations_are_kept()) { // the program has ended it before, and the driver says so
        if (modes::pinned.is_on())
            end_kept_at(record.address, 1);
        else
            give_back_registrations();
    }
    const std::uint16_t context = observe::current_context_number();
    Registration* known = nullptr;
    bool watched = false, worth = false;
    {
        const record::Guard guard(registrations_mutex);
        for (Registration& each : registrations)
            if (each.address == record.address && each.bytes == freeing.allocation.bytes && !each.ended &&
                (each.state == State::seen || each.state == State::watched))
                known = &each;
        if (known == nullptr || freeing.allocation.memory != trace::Memory::registered)
            return false;
        known->ended = true;
        watched = known->state == State::watched;
        worth = is_worth_keeping(*known);
        if (!worth && !watched)
            return false;
        known->state = State::keeping;
    }
    CUcontext handle = nullptr;
    const bool keeps = worth && observe::nothing_is_captured() && context == known->context &&
                       real<Entry::cuCtxGetCurrent>()(&handle) == CUDA_SUCCESS && handle != nullptr &&
                       observe::context_number(handle) == context && prepare_to_keep(*known, watched);
    if (!keeps)
        unwatch_mapping(number_of(*known));
    {
        const record::Guard guard(registrations_mutex);
        known->state = keeps ? State::kept : State::seen;
        known->handle = handle;
        known->since = record::run_nanoseconds();
        known->turn = registration_turn;
        if (keeps)
            enter_kept(*known, true);
    }
    if (!keeps)
        return false;
    record.status = CUDA_SUCCESS;
    record.reason = trace::Reason::kept_registration;
    end_old_registrations();
    return true;
}

void end_old_registrations() noexcept {
    if (!registrations_are_kept() || !observe::nothing_is_captured())
        return;
    const record::Quiet quiet;
    const std::uint16_t context = observe::current_context_number();
    const std::uint64_t now = record::run_nanoseconds();
    end_kept([&](Registration& each) {
        return each.context == context &&
               (now - each.since > old_after_ns || registration_turn - each.turn > old_after ||
                mapping_has_changed(number_of(each)));
    });
}

bool give_back_registrations() noexcept {
    if (!registrations_are_kept() || !observe::nothing_is_captured())
        return false;
    const record::Quiet quiet;
    const bool any = end_kept([](const Registration&) { return true; });
    const record::Guard guard(registrations_mutex);
    registration_budget /= 2;
    return any;
}

std::uint64_t kept_registration_bytes() noexcept {
    return registration_bytes.load(std::memory_order_relaxed);
}

void forget_registrations(std::uint16_t context_number) noexcept {
    for (Registration& each : registrations) {
        {
            const record::Guard guard(registrations_mutex);
            if (each.context != context_number || each.state == State::unused || each.state == State::keeping ||
                each.state == State::ending)
                continue;
            if (each.state == State::kept)
                enter_kept(each, false);
            if (each.state == State::seen) {
                each = {};
                continue;
            }
            each.state = State::ending;
        }
        unwatch_mapping(number_of(each));
        const record::Guard guard(registrations_mutex);
        each = {};
    }
}

} // namespace umadvisor::act

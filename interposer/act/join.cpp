/// `--act join`: prefetches that continue the one before them are made as one, and advice that is in effect
/// already is not given again.
///
/// A prefetch moves memory and changes no content, so results do not show when it is made. It is deferred
/// only where the driver has accepted one of the same run just before, and would accept this one.
#include "interposer/act/action.hpp"
#include "interposer/act/deferred.hpp"
#include "interposer/act/in_context.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/thread_writer.hpp"
#include "policy/given_advice.hpp"
#include "policy/prefetch_run.hpp"

#include <limits>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

record::Mutex mutex{record::Lock::actions}; ///< guards what follows; not held during calls of the driver
constinit policy::PrefetchRun run;
constinit CUcontext run_context = nullptr; ///< of what is deferred
constinit std::uint64_t run_stack = 0;     ///< call stack of the call before that
constinit policy::GivenAdvice advice;

/// False if the memory is none of the program's own managed memory, or if the driver might refuse the call.
bool holds(std::uint64_t address, std::uint64_t bytes, observe::Allocation& allocation) {
    return bytes != 0 && observe::allocations().find(address, allocation) &&
           allocation.memory == trace::Memory::managed && !allocation.rewritten &&
           bytes <= allocation.bytes - (address - allocation.address);
}

/// False if it can be no part of a run. The per-thread default stream is another one in a thread of ours.
bool describe(const trace::Prefetch& record, std::uint64_t address, std::uint64_t bytes,
              policy::PrefetchCall& call) {
    observe::Allocation allocation;
    const auto stream = static_cast<std::uint64_t>(record.stream);
    const bool to_host = record.location == trace::Location::host;
    if ((!to_host && record.location != trace::Location::device) ||
        record.location_id > std::numeric_limits<int>::max() || (to_host && record.location_id != 0) ||
        stream == reinterpret_cast<std::uint64_t>(CU_STREAM_PER_THREAD) || !holds(address, bytes, allocation))
        return false;
    call = {reinterpret_cast<std::uint64_t>(&record::seat),
            allocation.id,
            address,
            bytes,
            stream,
            to_host ? CU_DEVICE_CPU : static_cast<int>(record.location_id)};
    return true;
}

/// Makes the calls of a run as one, in the context that they were made in.
void make_run(bool) noexcept {
    policy::PrefetchCall all{};
    CUcontext context = nullptr, now = nullptr;
    std::uint64_t stack = 0;
    {
        const record::Guard guard(mutex);
        all = run.take();
        context = run_context;
        stack = run_stack;
    }
    if (all.bytes == 0)
        return;
    const bool elsewhere = real<Entry::cuCtxGetCurrent>()(&now) != CUDA_SUCCESS || now != context;
    const InContext inside(context, elsewhere);
    if (elsewhere && !inside)
        return;
    const CUresult answer =
        prefetch_range({all.allocation, all.address, all.bytes}, all.device,
                       reinterpret_cast<CUstream>(all.stream), trace::Reason::joined, stack);
    if (answer != CUDA_SUCCESS)
        modes::join.fail(answer);
}

constexpr Deferrable joined{&make_run};

bool may_defer(const policy::PrefetchCall& call, bool& first) {
    const record::Guard guard(mutex);
    first = run.is_empty();
    return run.may_defer(call);
}

bool instead_of_prefetch(PrefetchScope& prefetch) noexcept {
    policy::PrefetchCall call{};
    bool first = false;
    if (prefetch.flags != 0 || !observe::nothing_is_captured() ||
        !describe(prefetch.record, prefetch.address, prefetch.bytes, call) || !may_defer(call, first))
        return false;
    const record::Quiet quiet;
    CUcontext context = nullptr;
    // The driver answers the question with the errors of earlier work, as it would answer the prefetch.
    if (first && (observe::may_be_capturing(reinterpret_cast<CUstream>(call.stream)) ||
                  real<Entry::cuCtxGetCurrent>()(&context) != CUDA_SUCCESS || context == nullptr))
        return false;
    const bool deferred = defer(joined, [&] {
        const record::Guard guard(mutex);
        if (!run.may_defer(call) || run.is_empty() != first)
            return false;
        if (first)
            run_context = context;
        run.defer(call);
        return true;
    });
    if (!deferred)
        return false;
    prefetch.record.status = CUDA_SUCCESS;
    prefetch.record.reason = trace::Reason::joined;
    return true;
}

void on_prefetch(const trace::Prefetch& prefetch) noexcept {
    policy::PrefetchCall call{};
    if (prefetch.origin != trace::Origin::program || prefetch.reason != trace::Reason::none ||
        !describe(prefetch, prefetch.address, prefetch.bytes, call))
        return;
    const record::Guard guard(mutex);
    if (run.is_empty()) // else it is another thread's
        run_stack = prefetch.stack;
    run.made(call);
}

/// False for kinds that are not known.
bool describe(const trace::Advise& record, policy::Advice& to) {
    using Kind = policy::Advice::Kind;
    observe::Allocation allocation;
    if (!holds(record.address, record.bytes, allocation))
        return false;
    const std::uint64_t location =
        std::uint64_t{1} + (static_cast<std::uint64_t>(record.location) << 32 | record.location_id);
    to = {Kind::read_mostly, true, allocation.id, record.address, record.bytes, 0};
    switch (static_cast<CUmem_advise>(record.advice)) {
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        to.set = false;
        return true;
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
        return true;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        to.set = false;
        to.kind = Kind::preferred_location;
        return true;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        to.kind = Kind::preferred_location;
        to.location = location;
        return true;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        to.set = false;
        [[fallthrough]];
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
        to.kind = Kind::accessed_by;
        to.location = location;
        return true;
    default:
        return false;
    }
}

bool instead_of_advice(trace::Advise& record) noexcept {
    policy::Advice asked{};
    if (!describe(record, asked) || !observe::nothing_is_captured())
        return false;
    {
        const record::Guard guard(mutex);
        if (!advice.in_effect(asked))
            return false;
    }
    // The driver answers with the errors of earlier work, as it would answer the advice.
    const record::Quiet quiet;
    if (observe::may_be_capturing(CU_STREAM_LEGACY))
        return false;
    record.status = CUDA_SUCCESS;
    record.reason = trace::Reason::same_advice;
    return true;
}

void on_advice(const trace::Advise& record) noexcept {
    if (record.reason == trace::Reason::same_advice)
        return;
    policy::Advice given{};
    const bool known = describe(record, given);
    const record::Guard guard(mutex);
    if (known)
        advice.given(given);
    else
        advice.forget_all();
}

void on_free(const observe::Allocation& allocation) noexcept {
    if (allocation.memory != trace::Memory::managed)
        return;
    const record::Guard guard(mutex);
    advice.forget(allocation.id);
}

/// The driver forgets advice that names a device which nothing uses any more.
void on_context_end(std::uint16_t) noexcept {
    const record::Guard guard(mutex);
    advice.forget_all();
}

bool start(const runtime::Options&, const DeviceCount&) noexcept {
    if (observe::allocations().managed_count() != 0) { // they may have advice
        const record::Guard guard(mutex);
        advice.miss();
    }
    return true;
}

} // namespace

constinit Action modes::join{
    .name = "join",
    .start = &start,
    .on_prefetch = &on_prefetch,
    .on_advice = &on_advice,
    .instead_of_prefetch = &instead_of_prefetch,
    .instead_of_advice = &instead_of_advice,
    .on_free = &on_free,
    .on_context_end = &on_context_end,
};

} // namespace umadvisor::act

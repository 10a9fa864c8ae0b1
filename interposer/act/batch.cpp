/// `--act batch`: small copies from pinned memory to the device, made one after the other in one stream, become
/// one call of the driver.
///
/// The driver reads the source of such a copy at the call if the stream has no work, and in the order of the
/// stream if it has. So does this (policy/copy_batch.hpp): the stream is asked, and if it has none each copy's
/// bytes are captured at once in pinned memory of ours.
#include "interposer/act/action.hpp"
#include "interposer/act/capture_slabs.hpp"
#include "interposer/act/deferred.hpp"
#include "interposer/act/in_context.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/thread_writer.hpp"
#include "policy/copy_batch.hpp"

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

record::Mutex mutex{record::Lock::actions}; ///< guards what follows; not held during calls of the driver
constinit policy::CopyBatch batch;
/// Of what is deferred.
struct Deferred {
    CUcontext context = nullptr;
    std::uint32_t device = 0;
    std::uint64_t stack = 0; ///< of the copy before it
    CaptureSlab* slab = nullptr;
};
constinit Deferred now{};
constinit std::atomic<bool> batches_refused{false}; ///< by the driver

bool is_plain(std::uint64_t entry) {
    return entry == attach::index(Entry::cuMemcpyHtoDAsync_v2) ||
           entry == attach::index(Entry::cuMemcpyAsync) ||
           entry == attach::index(Entry::cuMemcpyHtoDAsync_v2_ptsz) ||
           entry == attach::index(Entry::cuMemcpyAsync_ptsz);
}

/// The allocation that holds all of these bytes.
bool holds(std::uint64_t address, std::uint64_t bytes, observe::Allocation& allocation) {
    return observe::allocations().find(address, allocation) &&
           bytes <= allocation.bytes - (address - allocation.address);
}

/// False if it can be no part of a run. The per-thread default stream is another one in the threads that make
/// what is deferred. `device`: of the destination.
bool describe(const trace::Copy& record, policy::SmallCopy& copy, std::uint32_t& device) {
    observe::Allocation to, from;
    const auto stream = static_cast<std::uint64_t>(record.stream);
    if (record.bytes == 0 || record.bytes >= policy::CopyBatch::less_than || !is_plain(record.entry) ||
        record.destination_memory != trace::Memory::device || record.source_memory != trace::Memory::pinned ||
        stream == reinterpret_cast<std::uint64_t>(CU_STREAM_PER_THREAD) || record.sample != 0 ||
        !holds(record.destination, record.bytes, to) || !holds(record.source, record.bytes, from) ||
        to.memory != trace::Memory::device || to.rewritten || from.memory != trace::Memory::pinned ||
        !from.readable)
        return false;
    copy = {reinterpret_cast<std::uint64_t>(&record::seat),
            record::seat.calls,
            stream != 0 ? stream : reinterpret_cast<std::uint64_t>(CU_STREAM_LEGACY),
            record.destination,
            record.source,
            record.bytes,
            to.id,
            from.id};
    device = to.device;
    return true;
}

void write_pieces(trace::Copy& call, const policy::CopyBatch::Pieces& pieces, std::uint32_t first,
                  std::uint32_t count) {
    for (std::uint32_t i = first; i < first + count; ++i) {
        trace::Copy piece = call;
        piece.destination = pieces.destination[i];
        piece.source = pieces.source[i];
        piece.bytes = pieces.bytes[i];
        piece.destination_memory = trace::Memory::device;
        piece.destination_allocation = trace::AllocationId{pieces.destination_allocation[i]};
        piece.source_memory = trace::Memory::pinned;
        piece.source_allocation = trace::AllocationId{pieces.source_allocation[i]};
        piece.batch = count == 1 ? 0 : i - first + 1;
        record::write(piece);
        call.duration = 0; // stands on the first
    }
}

/// Makes a call of ours for `count` pieces from `first` on.
template <class Call>
CUresult recorded(Entry entry, const policy::CopyBatch& made, std::uint32_t first, std::uint32_t count,
                  std::uint64_t stack, Call&& call) {
    trace::Copy record;
    record.entry = attach::index(entry);
    record.stream = trace::StreamId{made.stream()};
    record.asynchronous = 1;
    record.origin = trace::Origin::umadvisor;
    record.reason = trace::Reason::batched;
    record.stack = stack;
    record.start = record::now();
    const CUresult answer = call();
    record.duration = record::now() - record.start;
    record.status = static_cast<std::uint64_t>(answer);
    record::charge(record.duration);
    write_pieces(record, made.pieces(), first, count);
    return answer;
}

/// One call for all pieces, which have no order among each other and do not overlap.
CUresult make_at_once(const policy::CopyBatch& made, CUstream stream, std::uint64_t stack) {
    auto& pieces = const_cast<policy::CopyBatch::Pieces&>(made.pieces()); // the driver does not change them
    const auto destinations = reinterpret_cast<CUdeviceptr*>(pieces.destination),
               sources = reinterpret_cast<CUdeviceptr*>(pieces.source);
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    std::size_t from_first = 0, failed = 0;
    if (attach::available(Entry::cuMemcpyBatchAsync_v2))
        return recorded(Entry::cuMemcpyBatchAsync_v2, made, 0, pieces.count, stack, [&] {
            return real<Entry::cuMemcpyBatchAsync_v2>()(destinations, sources, pieces.bytes, pieces.count,
                                                        &attributes, &from_first, 1, stream);
        });
    return recorded(Entry::cuMemcpyBatchAsync, made, 0, pieces.count, stack, [&] {
        return real<Entry::cuMemcpyBatchAsync>()(destinations, sources, pieces.bytes, pieces.count, &attributes,
                                                 &from_first, 1, &failed, stream);
    });
}

CUresult make_in_order(const policy::CopyBatch& made, CUstream stream, std::uint64_t stack) {
    const policy::CopyBatch::Pieces& pieces = made.pieces();
    CUresult first_failure = CUDA_SUCCESS;
    for (std::uint32_t i = 0; i < pieces.count; ++i) {
        const CUresult answer = recorded(Entry::cuMemcpyHtoDAsync_v2, made, i, 1, stack, [&] {
            return real<Entry::cuMemcpyHtoDAsync_v2>()(pieces.destination[i],
                                                       reinterpret_cast<const void*>(pieces.source[i]),
                                                       pieces.bytes[i], stream);
        });
        if (first_failure == CUDA_SUCCESS)
            first_failure = answer;
    }
    return first_failure;
}

/// Makes what is deferred, in the context that it belongs to. Nothing changes `batch` meanwhile. Returns the
/// number of calls.
std::uint32_t make_pieces(const Deferred& deferred) {
    const std::uint32_t count = batch.pieces().count;
    const auto stream = reinterpret_cast<CUstream>(batch.stream());
    CUcontext current = nullptr;
    const bool here = real<Entry::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS && current == deferred.context;
    const InContext inside(here ? nullptr : deferred.context, !here);
    if (!here && !inside)
        return count; // the context is gone, and the memory with it
    CUresult answer = CUDA_ERROR_NOT_SUPPORTED;
    if (count > 1 && !batch.manner().in_order) {
        answer = make_at_once(batch, stream, deferred.stack);
        if (answer == CUDA_SUCCESS) {
            mark_used(deferred.slab, stream);
            return 1;
        }
        batches_refused.store(true, std::memory_order_relaxed);
        modes::batch.fail(answer);
    }
    answer = make_in_order(batch, stream, deferred.stack);
    mark_used(deferred.slab, stream);
    if (answer != CUDA_SUCCESS)
        modes::batch.fail(answer);
    return count;
}

void make_batch(bool over) noexcept {
    Deferred deferred;
    bool empty = false;
    {
        const record::Guard guard(mutex);
        empty = batch.is_empty();
        deferred = now;
    }
    const std::uint32_t calls = empty ? 0 : make_pieces(deferred);
    const record::Guard guard(mutex);
    batch.took(calls);
    if (over)
        batch.end();
}

constexpr Deferrable batched{&make_batch, true};

using Choice = policy::CopyBatch::Choice;

/// How the copies of a run that begins now are to be made; false: by the driver, as ever.
bool prepare(const policy::SmallCopy& copy, std::uint32_t device, bool only_if_idle, Deferred& deferred,
             policy::CopyBatch::Manner& manner) {
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    if (observe::may_be_capturing(stream) ||
        real<Entry::cuCtxGetCurrent>()(&deferred.context) != CUDA_SUCCESS || deferred.context == nullptr)
        return false;
    deferred.device = observe::device_of(deferred.context);
    if (deferred.device != device)
        return false;
    manner.in_order =
        stream == CU_STREAM_LEGACY || batches_refused.load(std::memory_order_relaxed) ||
        (!attach::available(Entry::cuMemcpyBatchAsync_v2) && !attach::available(Entry::cuMemcpyBatchAsync));
    // Errors of earlier work are left to the driver's answer.
    const CUresult answer = real<Entry::cuStreamQuery>()(stream);
    manner.captured = answer == CUDA_SUCCESS;
    deferred.slab = manner.captured ? free_slab(deferred.context) : nullptr;
    return manner.captured ? deferred.slab != nullptr : answer == CUDA_ERROR_NOT_READY && !only_if_idle;
}

Choice choose(const policy::SmallCopy& copy, Deferred& deferred, policy::CopyBatch::Manner& manner) {
    const record::Guard guard(mutex);
    deferred = now;
    manner = batch.manner();
    return batch.choose(copy);
}

/// Begins to defer with this copy.
bool begin(const policy::SmallCopy& copy, std::uint32_t device, Choice choice) {
    Deferred deferred;
    policy::CopyBatch::Manner manner{};
    if (!prepare(copy, device, choice == Choice::begin_if_idle, deferred, manner)) {
        const record::Guard guard(mutex);
        batch.leave();
        return false;
    }
    return defer(batched, [&] {
        const record::Guard guard(mutex);
        if (!modes::batch.is_on() || batch.choose(copy) != choice)
            return false;
        deferred.stack = now.stack;
        now = deferred;
        batch.begin(copy, manner);
        if (manner.captured)
            batch.use(deferred.slab->memory);
        batch.defer(copy);
        return true;
    });
}

/// Defers the copy behind others of its run. `fresh`: what the bytes of this and later ones are captured in.
bool add(const policy::SmallCopy& copy, CaptureSlab* fresh) {
    return defer(batched, [&] {
        const record::Guard guard(mutex);
        const Choice choice = batch.choose(copy);
        if (!modes::batch.is_on() || (choice != Choice::defer && choice != Choice::leave_if_idle &&
                                      (choice != Choice::make_first || fresh == nullptr)))
            return false;
        if (fresh != nullptr) {
            now.slab = fresh;
            batch.use(fresh->memory);
        }
        batch.defer(copy);
        return true;
    });
}

bool instead_of_copy(trace::Copy& record) noexcept {
    policy::SmallCopy copy{};
    std::uint32_t device = 0;
    if (!observe::nothing_is_captured() || !describe(record, copy, device))
        return false;
    Deferred deferred;
    policy::CopyBatch::Manner manner{};
    const Choice choice = choose(copy, deferred, manner);
    if (choice == Choice::leave)
        return false;
    const record::Quiet quiet;
    bool done = false;
    if (choice == Choice::begin || choice == Choice::begin_if_idle) {
        done = begin(copy, device, choice);
    } else if (device == deferred.device) {
        CaptureSlab* fresh = nullptr;
        if (choice == Choice::make_first) {
            make_deferred_calls(false);
            if (manner.captured && choose(copy, deferred, manner) == Choice::make_first &&
                (fresh = other_slab(deferred.slab)) == nullptr)
                return false;
        }
        if (choice == Choice::leave_if_idle &&
            real<Entry::cuStreamQuery>()(reinterpret_cast<CUstream>(copy.stream)) != CUDA_ERROR_NOT_READY)
            return false;
        done = add(copy, fresh);
    }
    if (done)
        record.reason = trace::Reason::batched;
    return done;
}

void after_copy(trace::Copy& record) noexcept {
    if (record.asynchronous == 0 || record.reason == trace::Reason::batched)
        return;
    policy::SmallCopy copy{};
    std::uint32_t device = 0;
    const bool counts = record.status == CUDA_SUCCESS && record.captured == 0 && describe(record, copy, device);
    const record::Guard guard(mutex);
    if (!counts)
        return batch.interrupt(reinterpret_cast<std::uint64_t>(&record::seat));
    batch.made(copy);
    now.stack = record.stack;
}

void on_context_end(std::uint16_t number) noexcept {
    forget_slabs(number);
}

} // namespace

constinit Action modes::batch{
    .name = "batch",
    .only_from_start = "calls through addresses that the program has asked for before would not be seen",
    .instead_of_copy = &instead_of_copy,
    .after_copy = &after_copy,
    .on_context_end = &on_context_end,
};

} // namespace umadvisor::act

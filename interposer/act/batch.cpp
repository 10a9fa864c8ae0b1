/// `--act batch`: small copies from pinned memory to the device, made one after the other in one stream, become
/// one call of the driver.
///
/// The driver reads the source of such a copy at the call if the stream has no work, and in the order of the
/// stream if it has. So does this (policy/copy_batch.hpp): the stream is asked, and if it has none each copy's
/// bytes are captured at once in pinned memory of ours.
///
/// So do small synchronous copies of pageable memory in the legacy stream. The driver would first wait for all
/// that this stream orders; so it is asked before each copy, and one that would wait is left to it.
#include "interposer/act/action.hpp"
#include "interposer/act/capture_slabs.hpp"
#include "interposer/act/deferred.hpp"
#include "interposer/act/deferred_copies.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/record/checked_read.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"
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
constinit DeferredCopies now{}; ///< what `batch` has

bool is_plain(std::uint64_t entry) {
    return entry == attach::index(Entry::cuMemcpyHtoDAsync_v2) ||
           entry == attach::index(Entry::cuMemcpyAsync) ||
           entry == attach::index(Entry::cuMemcpyHtoDAsync_v2_ptsz) ||
           entry == attach::index(Entry::cuMemcpyAsync_ptsz);
}

bool is_synchronous_upload(std::uint64_t entry) {
    return entry == attach::index(Entry::cuMemcpyHtoD_v2) || entry == attach::index(Entry::cuMemcpy);
}

/// The allocation that holds all of these bytes.
bool holds(std::uint64_t address, std::uint64_t bytes, observe::Allocation& allocation) {
    return observe::allocations().find(address, allocation) &&
           bytes <= allocation.bytes - (address - allocation.address);
}

/// Whether the source of an asynchronous copy can be part of a run. The per-thread default stream is another
/// one in the threads that make what is deferred.
bool is_pinned_source(const trace::Copy& record, std::uint64_t& allocation) {
    observe::Allocation from;
    if (!is_plain(record.entry) || record.source_memory != trace::Memory::pinned || record.sample != 0 ||
        static_cast<std::uint64_t>(record.stream) == reinterpret_cast<std::uint64_t>(CU_STREAM_PER_THREAD) ||
        !holds(record.source, record.bytes, from) || from.memory != trace::Memory::pinned || !from.readable)
        return false;
    allocation = from.id;
    return true;
}

/// The same for a synchronous one.
bool is_pageable_source(const trace::Copy& record) {
    return is_synchronous_upload(record.entry) && record.source_memory == trace::Memory::pageable &&
           !observe::allocations().overlaps(record.source, record.source + record.bytes);
}

/// False if it can be no part of a run. `device`: of the destination.
bool describe(const trace::Copy& record, policy::SmallCopy& copy, std::uint32_t& device) {
    const auto stream = static_cast<std::uint64_t>(record.stream);
    copy = {reinterpret_cast<std::uint64_t>(&record::seat),
            stream != 0 ? stream : reinterpret_cast<std::uint64_t>(CU_STREAM_LEGACY),
            record.destination,
            record.source,
            record.bytes,
            0,
            0,
            record.asynchronous == 0};
    observe::Allocation to;
    if (record.bytes == 0 || !policy::CopyBatch::is_small(copy) ||
        record.destination_memory != trace::Memory::device ||
        !(copy.synchronous ? is_pageable_source(record) : is_pinned_source(record, copy.source_allocation)) ||
        !holds(record.destination, record.bytes, to) || to.memory != trace::Memory::device || to.rewritten)
        return false;
    copy.destination_allocation = to.id;
    device = to.device;
    return true;
}

void make_batch(bool over) noexcept {
    DeferredCopies deferred;
    bool empty = false;
    {
        const record::Guard guard(mutex);
        empty = batch.is_empty();
        deferred = now;
    }
    const std::uint32_t calls = empty ? 0 : make_copies(batch, deferred);
    const record::Guard guard(mutex);
    batch.took(calls);
    if (over)
        batch.end();
}

constexpr Deferrable batched{&make_batch, true};

using Choice = policy::CopyBatch::Choice;

/// How the copies of a run that begins now are to be made; false: by the driver, as ever.
bool prepare(const policy::SmallCopy& copy, std::uint32_t device, bool only_if_idle, DeferredCopies& deferred,
             policy::CopyBatch::Manner& manner) {
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    if (observe::may_be_capturing(stream) ||
        real<Entry::cuCtxGetCurrent>()(&deferred.context) != CUDA_SUCCESS || deferred.context == nullptr)
        return false;
    deferred.device = observe::device_of(deferred.context);
    if (deferred.device != device)
        return false;
    manner.in_order = !makes_batches() || (stream == CU_STREAM_LEGACY && !copy.synchronous);
    // Errors of earlier work are left to the driver's answer.
    const CUresult answer = real<Entry::cuStreamQuery>()(stream);
    manner.captured = answer == CUDA_SUCCESS;
    const bool on_our_stream = copy.synchronous && !manner.in_order;
    deferred.slab = manner.captured ? free_slab(deferred.context, on_our_stream) : nullptr;
    return manner.captured ? deferred.slab != nullptr
                           : answer == CUDA_ERROR_NOT_READY && !only_if_idle && !copy.synchronous;
}

Choice choose(const policy::SmallCopy& copy, DeferredCopies& deferred, policy::CopyBatch::Manner& manner) {
    const record::Guard guard(mutex);
    deferred = now;
    manner = batch.manner();
    return batch.choose(copy);
}

/// What the program's memory has at the call, where it is not known whether it can be read.
class SourceBytes {
public:
    /// Returns where the copy's bytes are; null: the driver is to read them, and to answer if it cannot. What
    /// the driver would wait for is done.
    const void* of(const policy::SmallCopy& copy) noexcept {
        if (!copy.synchronous)
            return reinterpret_cast<const void*>(copy.source);
        return record::read_checked(read_->bytes, copy.source, copy.bytes) ? read_->bytes : nullptr;
    }

private:
    struct Read {
        char bytes[policy::CopyBatch::most_synchronous];
    };
    record::OffStack<Read> read_;
};

/// Begins to defer with this copy.
bool begin(const policy::SmallCopy& copy, std::uint32_t device, Choice choice) {
    DeferredCopies deferred;
    policy::CopyBatch::Manner manner{};
    if (!prepare(copy, device, choice == Choice::begin_if_idle, deferred, manner)) {
        const record::Guard guard(mutex);
        if (!copy.synchronous) // each of these waits, so the next may find the stream idle
            batch.leave();
        return false;
    }
    SourceBytes source;
    const void* const bytes = source.of(copy);
    if (bytes == nullptr)
        return false;
    return defer(batched, [&] {
        const record::Guard guard(mutex);
        if (!modes::batch.is_on() || batch.choose(copy) != choice)
            return false;
        deferred.stack = now.stack;
        now = deferred;
        batch.begin(copy, manner);
        if (manner.captured)
            batch.use(deferred.slab->memory);
        batch.defer(copy, bytes);
        return true;
    });
}

/// Defers the copy behind others of its run. `fresh`: what the bytes of this and later ones are captured in.
bool add(const policy::SmallCopy& copy, CaptureSlab* fresh) {
    SourceBytes source;
    const void* const bytes = source.of(copy);
    if (bytes == nullptr)
        return false;
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
        batch.defer(copy, bytes);
        return true;
    });
}

/// Whether the copy may be deferred behind others of its run.
bool may_go_on(const policy::SmallCopy& copy, Choice choice) {
    if (!copy.synchronous && choice != Choice::leave_if_idle)
        return true;
    const CUresult answer = real<Entry::cuStreamQuery>()(reinterpret_cast<CUstream>(copy.stream));
    return answer == (copy.synchronous ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

/// The same, and defers it.
bool go_on(const policy::SmallCopy& copy, Choice choice, DeferredCopies& deferred,
           policy::CopyBatch::Manner& manner) {
    CaptureSlab* fresh = nullptr;
    if (choice == Choice::make_first) {
        make_deferred_calls(false);
        if (manner.captured && choose(copy, deferred, manner) == Choice::make_first)
            fresh = copy.synchronous ? deferred.slab : other_slab(deferred.slab);
    }
    return may_go_on(copy, choice) && add(copy, fresh);
}

bool instead_of_copy(trace::Copy& record) noexcept {
    policy::SmallCopy copy{};
    std::uint32_t device = 0;
    if (!observe::nothing_is_captured() || !describe(record, copy, device))
        return false;
    DeferredCopies deferred;
    policy::CopyBatch::Manner manner{};
    const Choice choice = choose(copy, deferred, manner);
    if (choice == Choice::leave)
        return false;
    const record::Quiet quiet;
    const bool begins = choice == Choice::begin || choice == Choice::begin_if_idle;
    if (!(begins ? begin(copy, device, choice)
                 : device == deferred.device && go_on(copy, choice, deferred, manner)))
        return false;
    record.reason = trace::Reason::batched;
    return true;
}

void after_copy(trace::Copy& record) noexcept {
    if (record.reason == trace::Reason::batched)
        return;
    policy::SmallCopy copy{};
    std::uint32_t device = 0;
    const bool counts = record.status == CUDA_SUCCESS && record.captured == 0 && describe(record, copy, device);
    if (!counts) {
        const record::Guard guard(mutex);
        return batch.interrupt(reinterpret_cast<std::uint64_t>(&record::seat));
    }
    const record::Quiet quiet;
    wait_for_call(batched, [&] {
        const record::Guard guard(mutex);
        batch.made(copy);
        now.stack = record.stack;
        return true;
    });
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

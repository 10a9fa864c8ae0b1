#include "interposer/act/deferred_copies.hpp"

#include "interposer/act/action.hpp"
#include "interposer/act/in_context.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/recorder.hpp"

#include <atomic>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constinit std::atomic<bool> batches_refused{false}; ///< by the driver

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

/// What was queued so far is done at the return if copies are synchronous. Returns the first error.
CUresult complete(const policy::CopyBatch& made, CUstream stream, CUresult queued) {
    return made.is_synchronous() && queued == CUDA_SUCCESS ? real<Entry::cuStreamSynchronize>()(stream)
                                                           : queued;
}

/// What is queued on our stream comes behind all that the legacy stream orders: no work, unless another thread
/// has given some at the same time.
CUresult follow_legacy(const CaptureSlab& slab) {
    const CUresult answer = real<Entry::cuEventRecord>()(slab.read, CU_STREAM_LEGACY);
    return answer != CUDA_SUCCESS ? answer : real<Entry::cuStreamWaitEvent>()(slab.ours, slab.read, 0);
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
            return complete(made, stream,
                            real<Entry::cuMemcpyBatchAsync_v2>()(destinations, sources, pieces.bytes,
                                                                 pieces.count, &attributes, &from_first, 1,
                                                                 stream));
        });
    return recorded(Entry::cuMemcpyBatchAsync, made, 0, pieces.count, stack, [&] {
        return complete(made, stream,
                        real<Entry::cuMemcpyBatchAsync>()(destinations, sources, pieces.bytes, pieces.count,
                                                          &attributes, &from_first, 1, &failed, stream));
    });
}

CUresult make_in_order(const policy::CopyBatch& made, CUstream stream, std::uint64_t stack) {
    const policy::CopyBatch::Pieces& pieces = made.pieces();
    CUresult first_failure = CUDA_SUCCESS;
    for (std::uint32_t i = 0; i < pieces.count; ++i) {
        const CUresult answer = recorded(Entry::cuMemcpyHtoDAsync_v2, made, i, 1, stack, [&] {
            const CUresult queued = real<Entry::cuMemcpyHtoDAsync_v2>()(
                pieces.destination[i], reinterpret_cast<const void*>(pieces.source[i]), pieces.bytes[i],
                stream);
            return i + 1 == pieces.count ? complete(made, stream, queued) : queued;
        });
        if (first_failure == CUDA_SUCCESS)
            first_failure = answer;
    }
    return first_failure;
}

/// On a stream of ours, since the driver takes no batch in the legacy one.
CUresult make_synchronous(const policy::CopyBatch& batch, const DeferredCopies& copies) {
    const CUresult answer = follow_legacy(*copies.slab);
    return answer == CUDA_SUCCESS ? make_at_once(batch, copies.slab->ours, copies.stack) : answer;
}

} // namespace

bool makes_batches() noexcept {
    return !batches_refused.load(std::memory_order_relaxed) &&
           (attach::available(Entry::cuMemcpyBatchAsync_v2) || attach::available(Entry::cuMemcpyBatchAsync));
}

std::uint32_t make_copies(const policy::CopyBatch& batch, const DeferredCopies& copies) noexcept {
    const std::uint32_t count = batch.pieces().count;
    const auto stream = reinterpret_cast<CUstream>(batch.stream());
    CaptureSlab* const read_later = batch.is_synchronous() ? nullptr : copies.slab;
    CUcontext current = nullptr;
    const bool here = real<Entry::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS && current == copies.context;
    const InContext inside(here ? nullptr : copies.context, !here);
    if (!here && !inside)
        return count; // the context is gone, and the memory with it
    CUresult answer = CUDA_ERROR_NOT_SUPPORTED;
    if (count > 1 && !batch.manner().in_order) {
        answer = batch.is_synchronous() ? make_synchronous(batch, copies)
                                        : make_at_once(batch, stream, copies.stack);
        if (answer == CUDA_SUCCESS) {
            mark_used(read_later, stream);
            return 1;
        }
        batches_refused.store(true, std::memory_order_relaxed);
        modes::batch.fail(answer);
    }
    answer = make_in_order(batch, stream, copies.stack);
    mark_used(read_later, stream);
    if (answer != CUDA_SUCCESS)
        modes::batch.fail(answer);
    return count;
}

} // namespace umadvisor::act

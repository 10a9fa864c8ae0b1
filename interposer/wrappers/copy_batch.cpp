#include "interposer/wrappers/copy_batch.hpp"

#include "interposer/observe/capture.hpp"
#include "interposer/observe/copy_contents.hpp"
#include "interposer/wrappers/array_size.hpp"

namespace umadvisor::wrappers {

namespace {

/// Bytes of what the operation counts in. The driver is asked, since arrays come from graphics interoperation
/// and external memory too.
std::uint64_t element_of(const CUDA_MEMCPY3D_BATCH_OP& operation) {
    const CUmemcpy3DOperand* const array = operation.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY   ? &operation.src
                                           : operation.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? &operation.dst
                                                                                                : nullptr;
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    if (array == nullptr ||
        attach::real<Entry::cuArray3DGetDescriptor_v2>()(&descriptor, array->op.array.array) != CUDA_SUCCESS)
        return 1;
    const std::uint64_t bits = element_bits(descriptor.Format, descriptor.NumChannels);
    return bits < 8 ? 1 : bits / 8;
}

template <class BoxOf>
void write_batch(trace::Copy& call, std::size_t count, BoxOf&& box_at) noexcept {
    const KeepErrno keep;
    call.asynchronous = 1;
    call.captured = observe::is_captured(reinterpret_cast<CUstream>(call.stream));
    call.batch = 1;
    call.stack = record::stack();
    if (call.status != CUDA_SUCCESS || count == 0)
        return record::write(call);
    for (std::size_t i = 0; i < count; ++i) {
        trace::Copy copy = call;
        const CopyBox box = box_at(i);
        describe_copy(copy, box);
        observe::copy_contents().after_part(copy, box.source.span);
        record::write(copy);
        if (copy.captured == 0)
            note_moved(copy, box);
        ++call.batch;
        call.duration = 0;
    }
}

} // namespace

CopyBox box_of(const CUDA_MEMCPY3D_BATCH_OP& operation) noexcept {
    return box_of_operation(operation, element_of(operation));
}

void finish_batch(trace::Copy& call, const CUdeviceptr* destinations, const CUdeviceptr* sources,
                  const std::size_t* sizes, std::size_t count) noexcept {
    write_batch(call, count, [&](std::size_t i) { return CopyBox(destinations[i], sources[i], sizes[i]); });
}

void finish_batch(trace::Copy& call, const CUDA_MEMCPY3D_BATCH_OP* operations, std::size_t count) noexcept {
    write_batch(call, count, [&](std::size_t i) { return box_of(operations[i]); });
}

} // namespace umadvisor::wrappers

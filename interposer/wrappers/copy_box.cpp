#include "interposer/wrappers/copy_box.hpp"

#include <algorithm>

namespace umadvisor::wrappers {

namespace {

/// Bytes from the first to the end of the last; `layer` leads from layer to layer.
std::uint64_t span_of(const CopyBox& box, std::uint64_t pitch, std::uint64_t layer) {
    return box.bytes == 0 ? 0 : (box.depth - 1) * layer + (box.height - 1) * pitch + box.width;
}

/// cuda.h, cuMemcpy3D: Start = base + (Z * height + Y) * pitch + XInBytes. Unified addresses are in the field
/// for device addresses.
CopyEnd end_of(const RowsEnd& given, const CopyBox& box) {
    if (given.type == CU_MEMORYTYPE_ARRAY)
        return given.array;
    CopyEnd end;
    if (given.type == CU_MEMORYTYPE_HOST)
        end = given.host;
    else if (given.type == CU_MEMORYTYPE_DEVICE || given.type == CU_MEMORYTYPE_UNIFIED)
        end = given.device;
    else
        return end; // the driver refuses it
    end.address += (given.z * given.layer_height + given.y) * given.pitch + given.x;
    end.pitch = given.pitch;
    end.span = span_of(box, given.pitch, given.pitch * given.layer_height);
    return end;
}

/// A row length or layer height of zero stands for one packed as the copy itself is.
CopyEnd end_of(const CUmemcpy3DOperand& given, const CopyBox& box, std::uint64_t element) {
    if (given.type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return given.op.array.array;
    CopyEnd end = given.op.ptr.ptr;
    end.pitch = given.op.ptr.rowLength != 0 ? given.op.ptr.rowLength * element : box.width;
    const std::uint64_t rows = given.op.ptr.layerHeight != 0 ? given.op.ptr.layerHeight : box.height;
    end.span = span_of(box, end.pitch, end.pitch * rows);
    return end;
}

CopyBox box_of_extent(std::uint64_t width, std::uint64_t height, std::uint64_t depth) {
    CopyBox box;
    box.width = width;
    box.height = height;
    box.depth = depth;
    box.bytes = width * height * depth;
    return box;
}

} // namespace

CopyBox box_of_rows(const RowsEnd& destination, const RowsEnd& source, std::uint64_t width,
                    std::uint64_t height, std::uint64_t depth) noexcept {
    CopyBox box = box_of_extent(width, height, depth);
    box.destination = end_of(destination, box);
    box.source = end_of(source, box);
    return box;
}

CopyBox box_of_operation(const CUDA_MEMCPY3D_BATCH_OP& operation, std::uint64_t element) noexcept {
    CopyBox box =
        box_of_extent(operation.extent.width * element, operation.extent.height, operation.extent.depth);
    box.destination = end_of(operation.dst, box, element);
    box.source = end_of(operation.src, box, element);
    return box;
}

} // namespace umadvisor::wrappers

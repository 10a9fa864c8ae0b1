#include "interposer/wrappers/copy.hpp"

#include "interposer/observe/capture.hpp"
#include "interposer/observe/copy_contents.hpp"
#include "interposer/observe/memory_class.hpp"
#include "interposer/observe/peer_links.hpp"
#include "interposer/wrappers/stream.hpp"

#include "interposer/record/confined.hpp"

#include <sys/resource.h>

#include <bit>

namespace umadvisor::wrappers {

namespace {

observe::End end_of(const CopyEnd& end) {
    return end.array ? observe::classify_array(end.address) : observe::classify(end.address, end.span);
}

/// From this size on, pages of a file are counted that the copy reads from the disk.
constexpr std::uint64_t least_file_bytes = 1024 * 1024;

/// Page faults of this thread that waited for the disk (getrusage(2)). Takes 0.3 us.
std::uint64_t major_faults() {
    rusage usage{};
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_majflt) : 0;
}

/// Copies of like size and direction are alike to the device timer.
std::uint64_t timing_key(const trace::Copy& record) {
    return 0x8000000000000000u | static_cast<std::uint64_t>(record.source_memory) << 16 |
           static_cast<std::uint64_t>(record.destination_memory) << 8 |
           static_cast<std::uint64_t>(std::bit_width(record.bytes));
}

} // namespace

bool describe_copy(trace::Copy& record, const CopyBox& box) noexcept {
    record.destination = box.destination.address;
    record.source = box.source.address;
    record.bytes = box.bytes;
    const observe::End to = end_of(box.destination);
    const observe::End from = end_of(box.source);
    record.destination_memory = to.memory;
    record.destination_allocation = to.allocation;
    record.source_memory = from.memory;
    record.source_allocation = from.allocation;
    if (from.device != to.device && from.memory == trace::Memory::device && to.memory == trace::Memory::device)
        observe::record_peer_link(from.device, to.device);
    record.host_range = from.host_range != 0 ? from.host_range : to.host_range;
    record.width = box.width;
    record.height = box.height;
    record.depth = box.depth;
    record.source_pitch = box.source.pitch;
    record.destination_pitch = box.destination.pitch;
    return from.of_file;
}

void note_moved(const trace::Copy& record, const CopyBox& box) noexcept {
    if (record.source_memory == trace::Memory::managed)
        act::notify<&act::Action::on_move>(number(record.source_allocation), box.source.address,
                                           box.source.span);
    if (record.destination_memory == trace::Memory::managed)
        act::notify<&act::Action::on_move>(number(record.destination_allocation), box.destination.address,
                                           box.destination.span);
}

CopyScope::CopyScope(const CopyBox& box, trace::StreamId stream, bool asynchronous) noexcept : box_(box) {
    const KeepErrno keep;
    record_.stream = stream;
    record_.asynchronous = asynchronous;
    record_.captured = asynchronous && observe::is_captured(reinterpret_cast<CUstream>(stream));
    const bool of_file = describe_copy(record_, box);
    observe::copy_contents().before_copy(record_, host_span());
    if (asynchronous)
        sample_ = observe::device_timer().begin(reinterpret_cast<CUstream>(stream), timing_key(record_));
    record_.sample = sample_.number;
    from_file_ = of_file && box.bytes >= least_file_bytes && !record::is_confined();
    if (from_file_)
        major_faults_ = major_faults();
}

void CopyScope::finish() noexcept {
    const KeepErrno keep;
    if (from_file_)
        record_.disk_faults = major_faults() - major_faults_;
    observe::device_timer().end(sample_, reinterpret_cast<CUstream>(record_.stream));
    record_.stack = record::stack();
    act::notify<&act::Action::after_copy>(record_);
    if (record_.status == CUDA_SUCCESS)
        observe::copy_contents().after_copy(record_, host_span());
    record::write(record_);
    if (record_.status != CUDA_SUCCESS || record_.captured != 0)
        return;
    note_moved(record_, box_);
    if (!record_.asynchronous)
        after_wait({act::Wait::For::stream, number(record_.stream), record_.stack, 0});
}

trace::Set begin_set(CUdeviceptr address, std::uint64_t bytes, std::uint64_t value, trace::StreamId stream,
                     bool asynchronous) noexcept {
    const KeepErrno keep;
    trace::Set record;
    record.address = address;
    record.bytes = bytes;
    record.value = value;
    record.stream = stream;
    record.asynchronous = asynchronous;
    record.captured = asynchronous && observe::is_captured(reinterpret_cast<CUstream>(stream));
    const observe::End end = observe::classify(address, bytes);
    record.memory = end.memory;
    record.allocation = end.allocation;
    if (act::acting() && record.memory == trace::Memory::managed && !record.captured) {
        record.stack = record::stack();
        act::notify<&act::Action::before_set>(record);
    }
    return record;
}

void finish_set(trace::Set& record) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    record::write(record);
}

} // namespace umadvisor::wrappers

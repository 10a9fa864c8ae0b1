#include "scenario.hpp"

namespace umadvisor::test {
namespace {
constexpr std::uint64_t address_of(std::uint64_t allocation) {
    return 0x7f00'0000'0000 + (allocation << 32);
}
} // namespace

Scenario::Scenario(std::uint64_t device_bytes, const trace::Device& like) {
    trace::Runtime runtime;
    runtime.object = "/usr/bin/program";
    builder.add(runtime);
    trace::Process process;
    process.pid = 4242;
    process.executable = "/home/user/program";
    process.command_line = std::string_view("program\0--size\0", 15);
    builder.add(process);
    trace::Device device = like;
    if (device.device_name.empty())
        device.device_name = "NVIDIA H200";
    device.memory_bytes = device_bytes;
    builder.add(device);
}

std::uint64_t Scenario::entry(std::string_view symbol, bool recorded) {
    const auto found = entries_.find(symbol);
    if (found != entries_.end())
        return found->second;
    trace::Entry record;
    record.id = entries_.size() + 1;
    record.recorded = recorded ? 1 : 0;
    record.symbol = symbol;
    builder.add(record);
    return entries_[std::string(symbol)] = record.id;
}

std::uint64_t Scenario::stack() {
    trace::Frame frame;
    frame.id = next_++;
    frame.address = 0x400000 + frame.id * 16;
    builder.add(frame);
    return frame.id;
}

std::uint64_t Scenario::function(std::string_view symbol) {
    trace::Function record;
    record.id = next_++;
    record.symbol = symbol;
    builder.add(record);
    return record.id;
}

void Scenario::copy(std::uint64_t bytes, std::uint64_t duration, const CopyOptions& options) {
    trace::Copy copy;
    copy.entry = entry(options.symbol);
    copy.start = now;
    copy.duration = duration;
    copy.status = options.status;
    copy.stack = options.stack;
    copy.source = 0x1000'0000;
    copy.destination = 0x7000'0000'0000;
    copy.bytes = bytes;
    copy.source_memory = options.source;
    copy.destination_memory = options.destination;
    copy.asynchronous = options.asynchronous ? 1 : 0;
    copy.host_range = options.host_range;
    copy.sample = options.sample;
    copy.origin = options.origin;
    copy.staged = options.staged;
    copy.reason = options.reason;
    copy.wait_duration = options.wait_duration;
    copy.batch = options.batch;
    if (options.from != 0)
        copy.source = address_of(options.from) + (options.source == trace::Memory::device ? options.offset : 0);
    if (options.to != 0)
        copy.destination =
            address_of(options.to) + (options.destination == trace::Memory::device ? options.offset : 0);
    copy.source_allocation = options.from;
    copy.destination_allocation = options.to;
    copy.content.part_hash = options.part;
    copy.content.whole_hash = options.whole;
    copy.content.value_bytes = options.value_bytes;
    copy.content.value = options.value;
    copy.content_follows = options.content_follows ? 1 : 0;
    copy.content.look_duration = options.look_duration;
    if (options.height != 0) {
        copy.width = bytes / options.height;
        copy.height = options.height;
        copy.depth = 1;
        copy.source_pitch = copy.destination_pitch = options.pitch != 0 ? options.pitch : 2 * copy.width;
    }
    builder.add(copy);
    now += duration + 1000;
}

void Scenario::set(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t stack) {
    trace::Set record;
    record.entry = entry("cuMemsetD8_v2");
    record.start = now;
    record.duration = 3000;
    record.stack = stack;
    record.address = address_of(allocation);
    record.bytes = bytes;
    record.memory = trace::Memory::device;
    record.allocation = allocation;
    builder.add(record);
    now += 4000;
}

std::uint64_t Scenario::allocate(std::uint64_t bytes, trace::Memory memory, std::uint64_t stack,
                                 trace::Origin origin, std::string_view symbol, std::uint64_t duration) {
    trace::Alloc record;
    record.entry = entry(!symbol.empty()                    ? symbol
                         : memory == trace::Memory::managed ? "cuMemAllocManaged"
                                                            : "cuMemAlloc_v2");
    record.start = now;
    record.duration = duration;
    record.stack = stack;
    record.allocation = next_++;
    record.address = address_of(record.allocation);
    record.bytes = bytes;
    record.memory = memory;
    record.origin = origin;
    builder.add(record);
    now += duration + 1000;
    return record.allocation;
}

void Scenario::free(std::uint64_t allocation, std::uint64_t duration, std::uint64_t stack) {
    trace::Free record;
    record.entry = entry("cuMemFree_v2");
    record.start = now;
    record.duration = duration;
    record.stack = stack;
    record.allocation = allocation;
    record.address = address_of(allocation);
    builder.add(record);
    now += duration + 1000;
}

void Scenario::launch(std::uint64_t function, std::initializer_list<std::uint64_t> allocations,
                      std::uint64_t sample, std::uint64_t stack) {
    trace::LaunchShape shape;
    shape.shape = 1;
    shape.entry = entry("cuLaunchKernel");
    shape.function = function;
    shape.stack = stack;
    shape.grid_x = shape.grid_y = shape.grid_z = shape.block_y = shape.block_z = 1;
    shape.block_x = 256;
    shape.scanned = 1;
    for (const std::uint64_t allocation : allocations)
        shape.touched.add(allocation);
    builder.add(shape);
    trace::Launch launch;
    launch.shape = 1;
    launch.start = now;
    launch.duration = 2400;
    launch.sample = sample;
    builder.add(launch);
    now += 3000;
}

void Scenario::synchronize() {
    synchronize({.duration = ms});
}

void Scenario::synchronize(const SyncOptions& options) {
    trace::Sync record;
    record.entry = entry(options.kind == trace::SyncKind::context        ? "cuCtxSynchronize"
                         : options.kind == trace::SyncKind::stream       ? "cuStreamSynchronize"
                         : options.kind == trace::SyncKind::stream_query ? "cuStreamQuery"
                         : options.kind == trace::SyncKind::event_query  ? "cuEventQuery"
                                                                         : "cuEventSynchronize");
    record.start = now;
    record.duration = options.duration;
    record.kind = options.kind;
    record.object = options.object;
    record.stack = options.stack;
    record.status = options.status;
    builder.add(record, options.thread);
    now += options.duration + 1000;
}

void Scenario::device_time(std::uint64_t sample, std::uint64_t nanoseconds) {
    trace::DeviceTime record;
    record.start = now;
    record.sample = sample;
    record.nanoseconds = nanoseconds + 5000;
    record.floor_nanoseconds = 5000;
    builder.add(record);
    now += 100;
}

void Scenario::prefetch(std::uint64_t allocation, std::uint64_t bytes, trace::Location location,
                        trace::Origin origin) {
    trace::Prefetch record;
    record.entry = entry("cuMemPrefetchAsync_v2");
    record.start = now;
    record.duration = 2000;
    record.address = address_of(allocation);
    record.bytes = bytes;
    record.allocation = allocation;
    record.location = location;
    record.origin = origin;
    builder.add(record);
    now += 3000;
}

void Scenario::residency(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t host_bytes,
                         trace::SampleMoment moment) {
    trace::Residency record;
    record.start = now;
    record.duration = 500;
    record.allocation = allocation;
    record.moment = moment;
    record.pages = bytes / 4096;
    record.host_pages = host_bytes / 4096;
    builder.add(record);
    now += 1000;
}

std::string Scenario::path() {
    builder.last = {now, now};
    const std::string path = temporary_path("scenario.umtrace");
    builder.write(path);
    return path;
}

} // namespace umadvisor::test

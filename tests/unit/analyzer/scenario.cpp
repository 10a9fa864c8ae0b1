#include "scenario.hpp"

namespace umadvisor::test {
Scenario::Scenario(std::uint64_t device_bytes, const trace::Device& like) {
    builder.add(trace::Runtime{.object = "/usr/bin/program"});
    trace::Process process{.pid = 4242,
                           .executable = "/home/user/program",
                           .command_line = std::string_view("program\0--size\0", 15)};
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
    trace::Entry record{.id = entries_.size() + 1, .recorded = recorded ? 1u : 0u, .symbol = symbol};
    builder.add(record);
    return entries_[std::string(symbol)] = record.id;
}

std::uint64_t Scenario::stack() {
    trace::Frame frame{.id = next_++};
    frame.address = 0x400000 + frame.id * 16;
    builder.add(frame);
    return frame.id;
}

std::uint64_t Scenario::function(std::string_view symbol) {
    trace::Function record{.id = next_++, .symbol = symbol};
    builder.add(record);
    return record.id;
}

namespace {

std::string_view copy_symbol(const Scenario::CopyOptions& options) {
    if (options.height != 0)
        return options.asynchronous ? "cuMemcpy2DAsync_v2" : "cuMemcpy2D_v2";
    if (options.source != trace::Memory::device)
        return options.asynchronous ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyHtoD_v2";
    if (options.destination != trace::Memory::device)
        return options.asynchronous ? "cuMemcpyDtoHAsync_v2" : "cuMemcpyDtoH_v2";
    return options.asynchronous ? "cuMemcpyDtoDAsync_v2" : "cuMemcpyDtoD_v2";
}

std::string_view allocation_symbol(trace::Memory memory) {
    switch (memory) {
    case trace::Memory::managed:
        return "cuMemAllocManaged";
    case trace::Memory::pinned:
        return "cuMemHostAlloc";
    case trace::Memory::registered:
        return "cuMemHostRegister_v2";
    default:
        return "cuMemAlloc_v2";
    }
}

std::string_view wait_symbol(trace::SyncKind kind) {
    switch (kind) {
    case trace::SyncKind::context:
        return "cuCtxSynchronize";
    case trace::SyncKind::stream:
        return "cuStreamSynchronize";
    case trace::SyncKind::stream_query:
        return "cuStreamQuery";
    case trace::SyncKind::event_query:
        return "cuEventQuery";
    default:
        return "cuEventSynchronize";
    }
}

} // namespace

void Scenario::copy(std::uint64_t bytes, std::uint64_t duration, const CopyOptions& options) {
    trace::Copy copy{.source = options.host_address,
                     .destination =
                         options.source == trace::Memory::device ? options.host_address : 0x7000'0000'0000,
                     .bytes = bytes,
                     .source_memory = options.source,
                     .destination_memory = options.destination,
                     .asynchronous = options.asynchronous ? 1u : 0u,
                     .stream = trace::StreamId{options.stream},
                     .host_range = options.host_range,
                     .sample = options.sample,
                     .origin = options.origin,
                     .batch = options.batch,
                     .staged = options.staged,
                     .reason = options.reason,
                     .wait_duration = options.wait_duration,
                     .disk_faults = options.disk_faults};
    copy.status = options.status;
    copy.stack = options.stack;
    if (options.from != 0)
        copy.source = address_of(options.from) + (options.source == trace::Memory::device ? options.offset : 0);
    if (options.to != 0)
        copy.destination =
            address_of(options.to) + (options.destination == trace::Memory::device ? options.offset : 0);
    copy.source_allocation = trace::AllocationId{options.from};
    copy.destination_allocation = trace::AllocationId{options.to};
    copy.content.part_hash = options.part;
    copy.content.whole_hash = options.whole;
    copy.content.places = options.places;
    copy.content.places_differ = options.places_differ;
    copy.content.value_bytes = options.value_bytes;
    copy.content.value = options.value;
    copy.content_follows = options.content_follows ? 1 : 0;
    copy.content.look_duration = options.look_duration;
    if (options.height != 0) {
        copy.width = bytes / options.height;
        copy.height = options.height;
        copy.depth = 1;
        copy.source_pitch = copy.destination_pitch = options.pitch != 0 ? options.pitch : 2 * copy.width;
        if (options.destination == trace::Memory::array)
            copy.destination_pitch = 0;
    }
    call(copy, options.symbol.empty() ? copy_symbol(options) : options.symbol, duration);
}

void Scenario::download(std::uint64_t bytes, std::uint64_t duration, CopyOptions options) {
    options.source = trace::Memory::device;
    if (options.destination == trace::Memory::device)
        options.destination = trace::Memory::pinned;
    copy(bytes, duration, options);
}

void Scenario::set(std::uint64_t allocation, std::uint64_t bytes, const SetOptions& options) {
    trace::Set record{.address = address_of(allocation) + options.offset,
                      .bytes = bytes,
                      .value = options.value,
                      .memory = options.memory,
                      .allocation = trace::AllocationId{allocation},
                      .asynchronous = options.asynchronous ? 1u : 0u,
                      .stream = trace::StreamId{options.stream}};
    record.stack = options.stack;
    call(record, options.asynchronous ? "cuMemsetD8Async" : "cuMemsetD8_v2", 3 * us);
}

std::uint64_t Scenario::allocate(std::uint64_t bytes, trace::Memory memory, const AllocationOptions& options) {
    const std::uint64_t id = options.id != 0 || options.status != 0 ? options.id : next_++;
    trace::Alloc record{.allocation = trace::AllocationId{id}};
    record.stack = options.stack;
    record.address = options.address != 0 || options.status != 0 ? options.address : address_of(id);
    record.bytes = bytes;
    record.memory = memory;
    record.device = options.device;
    record.node = options.node;
    record.flags = options.flags;
    record.part = options.part;
    record.status = options.status;
    record.symbol = options.variable;
    record.origin = options.origin;
    call(record, options.symbol.empty() ? allocation_symbol(memory) : options.symbol, options.duration);
    return id;
}

void Scenario::free(std::uint64_t allocation, std::uint64_t duration, std::uint64_t stack) {
    trace::Free record{.allocation = trace::AllocationId{allocation}, .address = address_of(allocation)};
    record.stack = stack;
    call(record, "cuMemFree_v2", duration);
}

void Scenario::free_async(std::uint64_t allocation, std::uint64_t stream, std::uint64_t stack) {
    trace::Free record{.allocation = trace::AllocationId{allocation},
                       .address = address_of(allocation),
                       .stream = trace::StreamId{stream}};
    record.stack = stack;
    call(record, "cuMemFreeAsync");
}

void Scenario::add_launch(trace::LaunchShape shape, std::span<const std::uint64_t> allocations,
                          std::uint64_t sample) {
    shape.shape = 1;
    shape.entry = entry("cuLaunchKernel");
    shape.block_y = shape.block_z = 1;
    shape.block_x = 256;
    for (const std::uint64_t allocation : allocations)
        shape.touched.add(trace::AllocationId{allocation});
    builder.add(shape);
    builder.add(trace::Launch{.shape = 1, .start = now, .duration = 2400, .sample = sample});
    now += 3000;
}

void Scenario::launch(std::uint64_t function, std::initializer_list<std::uint64_t> allocations,
                      const LaunchOptions& options) {
    trace::LaunchShape shape{.function = function,
                             .stream = trace::StreamId{options.stream},
                             .stack = options.stack,
                             .grid_x = options.grid[0],
                             .grid_y = options.grid[1],
                             .grid_z = options.grid[2],
                             .scanned = options.scanned ? 1u : 0u};
    if (options.host_range != 0)
        shape.host_ranges.add(options.host_range);
    add_launch(shape, allocations, options.ns == 0 ? 0 : sample(options.ns));
}

void Scenario::launch(std::uint64_t function, std::initializer_list<std::uint64_t> allocations,
                      std::uint64_t sample, std::uint64_t stack) {
    trace::LaunchShape shape{.function = function, .stack = stack};
    shape.grid_x = shape.grid_y = shape.grid_z = 1;
    shape.scanned = 1;
    add_launch(shape, allocations, sample);
}

void Scenario::launch_unknown(std::uint64_t function) {
    add_launch(trace::LaunchShape{.function = function}, {}, 0);
}

void Scenario::launch_graph(std::uint64_t stream) {
    call(trace::GraphLaunch{.stream = trace::StreamId{stream}}, "cuGraphLaunch");
}

void Scenario::host_function(std::uint64_t stream, std::uint32_t thread) {
    call(trace::HostFunction{.stream = trace::StreamId{stream}}, "cuLaunchHostFunc", us, thread);
}

void Scenario::make_stream(std::uint64_t handle, bool non_blocking) {
    trace::Stream record{.action = trace::StreamAction::create,
                         .stream = trace::StreamId{handle},
                         .flags = non_blocking ? 1u : 0u};
    call(record, "cuStreamCreate");
}

void Scenario::record_event(std::uint64_t event, std::uint64_t stream) {
    trace::Event record;
    record.action = trace::EventAction::record;
    record.event = event;
    record.stream = trace::StreamId{stream};
    call(record, "cuEventRecord", 500);
}

void Scenario::act_on_stream(std::uint64_t stream, trace::StreamAction action, std::uint64_t event) {
    call(trace::Stream{.action = action, .stream = trace::StreamId{stream}, .event = event},
         action == trace::StreamAction::wait_event    ? "cuStreamWaitEvent"
         : action == trace::StreamAction::write_value ? "cuStreamWriteValue32_v2"
                                                      : "cuStreamWaitValue32_v2",
         500);
}

void Scenario::synchronize() {
    synchronize({.duration = ms});
}

void Scenario::synchronize(const SyncOptions& options) {
    trace::Sync record{.kind = options.kind, .object = options.object};
    record.stack = options.stack;
    record.status = options.status;
    call(record, wait_symbol(options.kind), options.duration, options.thread);
}

void Scenario::device_time(std::uint64_t sample, std::uint64_t nanoseconds) {
    trace::DeviceTime record{
        .start = now, .sample = sample, .nanoseconds = nanoseconds + 5000, .floor_nanoseconds = 5000};
    builder.add(record);
    now += 100;
}

std::uint64_t Scenario::sample(std::uint64_t nanoseconds) {
    untold_.emplace_back(++samples_, nanoseconds);
    return samples_;
}

void Scenario::tell_times() {
    for (const auto& [sample, nanoseconds] : std::exchange(untold_, {}))
        device_time(sample, nanoseconds);
}

void Scenario::prefetch(std::uint64_t allocation, std::uint64_t bytes, trace::Location location,
                        const PrefetchOptions& options) {
    trace::Prefetch record{.address = allocation == 0 ? 0 : address_of(allocation),
                           .bytes = bytes,
                           .allocation = trace::AllocationId{allocation},
                           .location = location,
                           .origin = options.origin,
                           .reason = options.reason,
                           .host_range = options.host_range};
    record.stack = options.stack;
    record.status = options.status;
    call(record, "cuMemPrefetchAsync_v2", options.duration);
}

void Scenario::residency(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t host_bytes,
                         trace::SampleMoment moment) {
    trace::Residency record{.start = now,
                            .duration = 500,
                            .allocation = trace::AllocationId{allocation},
                            .moment = moment,
                            .pages = bytes / 4096,
                            .host_pages = host_bytes / 4096};
    builder.add(record);
    now += 1000;
}

void Scenario::pause() {
    builder.add(trace::Pause{.start = now});
    now += us;
}

void Scenario::use_device(std::uint64_t ordinal, std::uint64_t context) {
    trace::Context record{
        .action = trace::ContextAction::set_current, .context = context + ordinal, .device = ordinal};
    call(record, "cuCtxSetCurrent", 100);
}

std::uint64_t Scenario::text(std::string_view words) {
    trace::String record{.id = 90'000 + ++texts_, .text = words};
    builder.add(record);
    return record.id;
}

std::string Scenario::path() {
    builder.last = {now, now};
    const std::string path = temporary_path("scenario.umtrace");
    builder.write(path);
    return path;
}

} // namespace umadvisor::test

#include "analyzer/reports/perfetto/perfetto_memory.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace umadvisor::reports::perfetto {
namespace {

constexpr std::uint64_t known_late_ns = 50'000'000;
constexpr std::size_t most_held = 1 << 16;

template <std::size_t N>
std::string_view word(const std::array<std::string_view, N>& words, std::uint64_t number) {
    return words[number < N ? number : 0];
}

std::string_view name_of_move(std::uint64_t cause) {
    return word(std::to_array<std::string_view>({"move", "move (prefetch call)", "move (page fault)",
                                                 "move (along with a page fault)", "eviction",
                                                 "move (access counters)"}),
                cause);
}

std::string_view name_of_fault(std::uint64_t access) {
    return word(std::to_array<std::string_view>({"page fault", "page fault (read)", "page fault (write)",
                                                 "page fault (atomic)", "page fault (prefetch)"}),
                access);
}

std::string_view name_of(const trace::ManagedEvent& record) {
    using Kind = trace::ManagedEventKind;
    switch (record.kind) {
    case Kind::migration:
        return name_of_move(record.cause);
    case Kind::host_fault:
    case Kind::device_fault:
        return name_of_fault(record.cause);
    case Kind::thrashing:
        return "thrashing";
    case Kind::throttling:
        return "throttling";
    case Kind::remote_map:
        return "mapped from afar";
    case Kind::read_duplicate:
        return "read duplicate";
    case Kind::read_duplicate_end:
        return "read duplicate ends";
    }
    return "unknown";
}

std::string processor(std::uint64_t number) {
    return number == 0 ? "host" : fmt::format("device {}", number - 1);
}

std::string track_of(const trace::ManagedEvent& record) {
    using Kind = trace::ManagedEventKind;
    if (record.kind == Kind::migration)
        return "managed memory: moves to " + processor(record.to);
    if (record.kind == Kind::host_fault || record.kind == Kind::device_fault)
        return "managed memory: page faults of " + processor(record.to);
    return fmt::format("managed memory: {}", record.kind == Kind::thrashing || record.kind == Kind::throttling
                                                 ? "thrashing"
                                                 : "mappings");
}

std::int64_t counted(std::uint64_t bytes) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX));
}

} // namespace

MemoryTracks::MemoryTracks(Run& run, DeviceTrack device_track)
    : run_(run), device_track_(std::move(device_track)), history_(run.trace().dictionary, SIZE_MAX, false) {
    const std::uint64_t second = run.trace().time.length(1'000'000'000); // of as many ticks
    delay_ = second == 0
                 ? 0
                 : reader::saturated(1e9 * static_cast<double>(known_late_ns) / static_cast<double>(second));
}

void MemoryTracks::hold(std::uint64_t start, Record record) {
    held_.push({start, ++order_, std::move(record)});
    while (held_.size() > most_held || reader::saturated_sum(held_.top().start, delay_) < start)
        tell_earliest();
}

void MemoryTracks::tell_earliest() {
    std::visit([this](const auto& record) { this->tell(record); }, held_.top().record);
    held_.pop();
}

void MemoryTracks::tell(const trace::Alloc& record) {
    history_.add(record);
    tell_steps();
}

void MemoryTracks::tell(const trace::Free& record) {
    history_.add(record);
    tell_steps();
}

void MemoryTracks::tell_steps() {
    for (const MemoryStep& step : history_.take_steps()) {
        const HeldMemory& memory = step.memory;
        const std::int64_t at = run_.at(step.start);
        if (step.action == "segment_alloc") {
            Live& live =
                live_[memory.allocation] = {&line_of(memory.site.stack), memory.bytes, 0, memory.managed != 0};
            count_on_device(live, live.managed ? 0 : memory.bytes, at);
            count_device(memory.device, at);
        } else if (step.action == "segment_free") {
            if (const auto live = live_.find(memory.allocation); live != live_.end()) {
                count_on_device(live->second, 0, at);
                live_.erase(live);
            }
            count_device(memory.device, at);
        }
    }
}

MemoryTracks::Line& MemoryTracks::line_of(ids::StackId stack) {
    std::string name = run_.line(stack);
    if (!has_room(lines_, name))
        name = "other lines";
    Line& line = lines_[name];
    line.name = name;
    return line;
}

void MemoryTracks::count(Line& line, std::unique_ptr<Track>& track, std::string_view what, std::uint64_t bytes,
                         std::int64_t at) {
    if (!track) {
        if (!group_)
            group_ = run_.track({.name = "memory by allocating line", .parent = run_.process()});
        const std::string name = fmt::format("{}: {}", line.name, what);
        track = run_.track({.name = name, .parent = group_->uuid(), .counter = true, .unit = Unit::bytes});
    }
    track->add(at, {.type = EventType::counter, .value = counted(bytes)});
}

void MemoryTracks::count_on_device(Live& live, std::uint64_t bytes, std::int64_t at) {
    if (live.on_device == bytes)
        return;
    Line& line = *live.line;
    line.bytes_on_device = line.bytes_on_device - live.on_device + bytes;
    live.on_device = bytes;
    count(line, line.on_device, "on the device", line.bytes_on_device, at);
}

void MemoryTracks::count_device(std::uint64_t device, std::int64_t at) {
    DeviceCounter& counter = devices_[device];
    if (!counter.track)
        counter.track = run_.track({.name = "memory in use, without managed memory",
                                    .parent = device_track_(device),
                                    .counter = true,
                                    .unit = Unit::bytes});
    const std::uint64_t bytes = history_.held_bytes(device);
    if (std::exchange(counter.bytes, bytes) != bytes)
        counter.track->add(at, {.type = EventType::counter, .value = counted(bytes)});
}

void MemoryTracks::add(const trace::Copy& record) {
    const bool from_host = facts::is_host_memory(record.source_memory),
               to_host = facts::is_host_memory(record.destination_memory);
    const trace::AllocationId allocation = from_host ? record.destination_allocation : record.source_allocation;
    if (record.status == 0 && record.captured == 0 && record.bytes != 0 && from_host != to_host &&
        known(allocation))
        hold(record.start, Copied{record.start, record.bytes, allocation, from_host});
}

/// What copies bring and take is counted for the line of the memory on the device.
void MemoryTracks::tell(const Copied& copied) {
    const auto live = live_.find(copied.allocation);
    if (live == live_.end())
        return;
    count_move(*live->second.line, copied.to_device, copied.bytes, run_.at(copied.start));
}

void MemoryTracks::count_move(Line& line, bool to_device, std::uint64_t bytes, std::int64_t at) {
    std::uint64_t& moved = to_device ? line.bytes_to_device : line.bytes_to_host;
    reader::add_saturated(moved, bytes);
    if (to_device)
        count(line, line.to_device, "moved to the device", moved, at);
    else
        count(line, line.to_host, "moved to the host", moved, at);
}

MemoryTracks::Live* MemoryTracks::live_at(std::uint64_t address) {
    auto at = history_.held().upper_bound(address);
    if (at == history_.held().begin() || address - (--at)->first >= at->second.bytes)
        return nullptr;
    const auto live = live_.find(at->second.allocation);
    return live == live_.end() ? nullptr : &live->second;
}

void MemoryTracks::move(const trace::ManagedEvent& record, Live* live) {
    if (live == nullptr || !live->managed || record.from == record.to)
        return;
    Line& line = *live->line;
    const std::int64_t at = run_.at(reader::saturated_sum(record.start, record.duration));
    if (record.to == 0) {
        count_move(line, false, record.bytes, at);
        count_on_device(*live, live->on_device - std::min(live->on_device, record.bytes), at);
    } else if (record.from == 0) {
        count_move(line, true, record.bytes, at);
        count_on_device(*live, std::min(live->bytes, reader::saturated_sum(live->on_device, record.bytes)), at);
    }
}

SliceTrack& MemoryTracks::managed_track(const trace::ManagedEvent& record) {
    std::string name = track_of(record);
    if (!has_room(managed_, name))
        name = "managed memory";
    std::unique_ptr<SliceTrack>& track = managed_[name];
    if (!track)
        track = run_.slices({.name = name, .parent = run_.process()});
    return *track;
}

/// The same figures as in a report, which has them in all.
void MemoryTracks::tell(const trace::ManagedCounters& record) {
    totals_.add(record);
    const auto set = [&](std::size_t number, const char* name, Unit unit, std::uint64_t value) {
        std::unique_ptr<Track>& track = total_tracks_[number];
        if (!track)
            track = run_.track({.name = name, .parent = run_.process(), .counter = true, .unit = unit});
        track->add(run_.at(record.start), {.type = EventType::counter, .value = counted(value)});
    };
    set(0, "managed memory: moved to the device", Unit::bytes, totals_.moved().to_device);
    set(1, "managed memory: moved to the host", Unit::bytes, totals_.moved().to_host);
    set(2, "managed memory: host faults", Unit::none, totals_.host_faults().value_or(0));
    set(3, "managed memory: device faults", Unit::none, totals_.device_faults().value_or(0));
}

void MemoryTracks::tell(const trace::ManagedEvent& record) {
    Live* const live = live_at(record.address);
    std::vector<Argument> arguments{{"bytes", record.bytes}, {"address", record.address}};
    if (record.count != 0)
        arguments.push_back({"faults", record.count + 1});
    if (live != nullptr)
        arguments.push_back({"allocated at", live->line->name});
    const Event event{.name = name_of(record), .category = "managed memory", .arguments = arguments};
    const std::int64_t begin = run_.at(record.start);
    if (record.duration == 0)
        managed_track(record).instant(begin, event);
    else
        managed_track(record).slice(begin, run_.at(reader::saturated_sum(record.start, record.duration)),
                                    event);
    if (record.kind == trace::ManagedEventKind::migration)
        move(record, live);
}

void MemoryTracks::finish(std::int64_t end) {
    while (!held_.empty())
        tell_earliest();
    for (const auto& [name, track] : managed_)
        track->finish(end);
}

} // namespace umadvisor::reports::perfetto

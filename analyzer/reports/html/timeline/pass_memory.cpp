/// What happens to memory: the rows of allocations, of links and of the memory in use.
#include "analyzer/facts/own_calls.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reports/html/timeline/pass.hpp"

#include <algorithm>
#include <cmath>

namespace umadvisor::html {
namespace {

constexpr std::size_t most_uses = 1 << 13, most_parts = 4096;

} // namespace

std::uint32_t Pass::line_of(const trace::Alloc& record) {
    std::vector<std::uint32_t>& recent = recent_lines_[ids::StackId::of(record)];
    for (const std::uint32_t number : recent)
        if (const LineRow& line = out_.lines[number];
            line.entry == record.entry && line.symbol == record.symbol && line.memory == record.memory)
            return number;
    const auto same_line = line_stacks_.find(ids::StackId::of(record));
    const ids::StackId stack = same_line == line_stacks_.end() ? ids::StackId::of(record) : same_line->second;
    const auto key = std::tuple(stack, record.entry, record.symbol, record.memory);
    const auto [found, fresh] = lines_.try_emplace(key, 0);
    if (fresh) {
        if (out_.lines.size() <= Timeline::most_lines) {
            LineRow row;
            row.stack = stack;
            row.entry = record.entry;
            row.symbol = record.symbol;
            row.memory = record.memory;
            out_.lines.push_back(std::move(row));
        }
        found->second = static_cast<std::uint32_t>(out_.lines.size() - 1); // the last stands for all others
    }
    recent.push_back(found->second);
    return found->second;
}

void Pass::add(const trace::Alloc& record) {
    if (record.status != 0 || record.captured != 0 || !trace::known(record.allocation) || record.bytes == 0)
        return;
    const std::uint32_t number = line_of(record);
    LineRow& line = out_.lines[number];
    const double end = at(record.start + record.duration);
    if (line.first < 0)
        line.first = end;
    ++line.count;
    line.bytes += record.bytes;
    line.largest = std::max(line.largest, record.bytes);
    held_[record.allocation] = number;
    if (!facts::is_host_memory(record.memory)) {
        devices_[record.allocation] = static_cast<std::uint32_t>(record.device);
        used_.insert(static_cast<std::uint32_t>(record.device));
    }
    if (record.memory == trace::Memory::managed) {
        managed_[record.allocation] = number;
        any_managed_ = true;
    }
    PlaceStep made = step_at(PlaceStep::Kind::alloc, end, record.allocation);
    made.address = record.address;
    made.bytes = record.bytes;
    made.memory = record.memory;
    made.line = number;
    step(made);
}

void Pass::add(const trace::Free& record) {
    if (record.status != 0 || record.captured != 0 || !trace::known(record.allocation))
        return;
    held_.erase(record.allocation);
    devices_.erase(record.allocation);
    managed_.erase(record.allocation);
    step(step_at(PlaceStep::Kind::free, at(record.start), record.allocation));
}

void Pass::add(const trace::Copy& record) {
    if (record.status != 0 || record.captured != 0)
        return;
    const bool from_host = facts::is_host_memory(record.source_memory);
    const bool to_host = facts::is_host_memory(record.destination_memory);
    const auto tell = [&](trace::AllocationId allocation, trace::Memory memory, bool up) {
        if (!trace::known(allocation))
            return;
        PlaceStep copied = step_at(PlaceStep::Kind::copied, at(record.start), allocation);
        copied.bytes = record.bytes;
        copied.up = up;
        if ((memory == trace::Memory::device || memory == trace::Memory::managed) && from_host != to_host)
            step(copied);
    };
    tell(record.destination_allocation, record.destination_memory, true);
    tell(record.source_allocation, record.source_memory, false);
}

void Pass::add(const trace::Set& record) {
    if (record.status != 0 || record.captured != 0 || !managed_.contains(record.allocation))
        return;
    PlaceStep work = step_at(PlaceStep::Kind::work, at(record.start), record.allocation);
    work.until = at(record.start + record.duration);
    work.bytes = record.bytes;
    step(work);
}

void Pass::add(const trace::Sync& record) {
    if (record.status == 0 && facts::waits_for_work(record) && !managed_.empty())
        step(step_at(PlaceStep::Kind::wait, at(record.start + record.duration), {}));
}

void Pass::add(const trace::Prefetch& record) {
    if (record.status != 0)
        return;
    PlaceStep fetched = step_at(PlaceStep::Kind::prefetch, at(record.start), record.allocation);
    fetched.bytes = record.bytes;
    fetched.up = record.location == trace::Location::device;
    (fetched.up ? prefetched_up_ : prefetched_down_) += static_cast<double>(record.bytes);
    step(fetched);
}

void Pass::add(const trace::Advise& record) {
    constexpr std::uint64_t set_accessed_by = 5;
    if (record.status == 0 && record.advice == set_accessed_by && record.location == trace::Location::device)
        step(step_at(PlaceStep::Kind::mapped, at(record.start), record.allocation));
}

void Pass::add(const trace::Residency& record) {
    constexpr std::uint64_t page = 4096;
    PlaceStep look = step_at(PlaceStep::Kind::look, at(record.start), record.allocation);
    look.offset = record.offset;
    look.bytes = record.pages * page;
    look.on_host = record.host_pages * page;
    look.after_wait = record.moment == trace::SampleMoment::after_synchronize;
    step(look);
}

void Pass::add(const trace::ManagedEvent& record) {
    using Kind = trace::ManagedEventKind;
    PlaceStep event = step_at(PlaceStep::Kind::host_fault, at(record.start), {});
    event.address = record.address;
    event.bytes = record.bytes;
    switch (record.kind) {
    case Kind::host_fault:
        fault_times_.host_fault(event.time, record.thread, record.code);
        break;
    case Kind::migration: {
        const auto cause = static_cast<trace::MigrationCause>(record.cause);
        event.kind = PlaceStep::Kind::migration;
        event.up = record.to != 0;
        event.cause = cause == trace::MigrationCause::eviction ? MoveCause::eviction
                      : cause == trace::MigrationCause::user || cause == trace::MigrationCause::prefetch
                          ? MoveCause::prefetch
                      : event.up ? MoveCause::device_fault
                                 : MoveCause::host_fault;
        out_.known_moves = true;
        // What goes between host and device is in the totals, where these are exact.
        if (record.from != record.to && (!exact_totals_ || (record.from != 0 && record.to != 0)))
            carry(static_cast<std::uint32_t>(record.from), static_cast<std::uint32_t>(record.to), event.time,
                  event.time + length(record.duration), record.bytes);
        break;
    }
    case Kind::device_fault:
        event.kind = PlaceStep::Kind::device_fault;
        break;
    case Kind::read_duplicate:
        event.kind = PlaceStep::Kind::duplicated;
        break;
    default:
        return;
    }
    step(event);
}

void Pass::add(const trace::ManagedCounters& record) {
    const double now = at(record.start);
    const auto more = [](std::uint64_t after, std::uint64_t before) {
        return after > before ? static_cast<double>(after - before) : 0.0;
    };
    Interval interval{totals_at_,
                      now,
                      more(record.bytes_to_device, totals_.bytes_to_device),
                      more(record.bytes_to_host, totals_.bytes_to_host),
                      more(record.host_faults, totals_.host_faults),
                      more(record.device_faults, totals_.device_faults),
                      prefetched_up_,
                      prefetched_down_};
    totals_ = record;
    totals_at_ = now;
    prefetched_up_ = prefetched_down_ = 0;
    if (interval.up + interval.down + interval.host_faults + interval.device_faults != 0 &&
        now > interval.begin)
        fault_times_.add(interval);
}

void Pass::stay(std::uint32_t number, std::uint32_t part, double begin, double end, std::uint64_t bytes,
                const std::array<float, places>& shares) {
    LineRow& line = out_.lines[number];
    if (line.binned_stays.empty()) {
        line.binned_stays.resize(places * LineRow::bins);
        line.binned_alive.resize(LineRow::bins);
        line.binned_moves.resize(LineRow::move_bins * LineRow::bins);
    }
    for_bins(out_.span, LineRow::bins, begin, end, [&](std::size_t bin, double covered) {
        const auto weight = static_cast<float>(covered);
        line.binned_alive[bin] += weight;
        for (std::size_t place = 0; place < places; ++place)
            if (shares[place] != 0)
                line.binned_stays[place * LineRow::bins + bin] +=
                    weight * shares[place] * static_cast<float>(bytes);
    });
    if (part < most_parts) {
        line.extend_part(part, begin, end, bytes);
    } else {
        line.stays_exact = false;
        line.stays = {};
    }
    const StayPiece piece = stay_piece(begin, end, part, shares);
    closeups_.add({begin, end, bytes, number, part, Sight::Of::stay, 0, piece.shares});
    if (!line.stays_exact)
        return;
    for (auto last = line.stays.rbegin(); last != line.stays.rend() && last < line.stays.rbegin() + 4; ++last)
        if (last->number == part) {
            if (last->shares == piece.shares && last->end == begin) {
                last->end = end;
                return;
            }
            break;
        }
    line.stays.push_back(piece);
    if (line.stays.size() > LineRow::most_stays) {
        line.stays_exact = false;
        line.stays = {};
    }
}

void Pass::move(std::uint32_t number, std::uint32_t part, double time, bool up, MoveCause cause,
                std::uint64_t bytes) {
    LineRow& line = out_.lines[number];
    const bool copied = cause == MoveCause::copy;
    (copied ? (up ? line.copied_up : line.copied_down) : (up ? line.moved_up : line.moved_down)) += bytes;
    if (line.binned_moves.empty())
        line.binned_moves.resize(LineRow::move_bins * LineRow::bins);
    const double place = (time - out_.span.begin) / out_.span.length() * LineRow::bins;
    const auto bin = static_cast<std::size_t>(std::clamp(place, 0.0, LineRow::bins - 1.0));
    line.binned_moves[LineRow::move_bin(cause, up) * LineRow::bins + bin] += static_cast<float>(bytes);
    if (part < line.parts.size()) {
        AllocationPart& of = line.parts[part];
        (copied ? of.copied : up ? of.moved_up : of.moved_down) += bytes;
    }
    closeups_.add({time, time + 1, bytes, number, part, Sight::Of::move,
                   static_cast<std::uint8_t>(static_cast<unsigned>(cause) << 1 | (up ? 1u : 0u))});
    if (!line.moves_exact)
        return;
    line.moves.push_back({time, bytes, part, up, cause});
    if (line.moves.size() > LineRow::most_moves) {
        line.moves_exact = false;
        line.moves = {};
    }
}

void Pass::use(double time, std::uint64_t allocated, std::uint64_t resident) {
    out_.peak_allocated = std::max(out_.peak_allocated, allocated);
    out_.peak_resident = std::max(out_.peak_resident, resident);
    std::vector<MemoryUse>& use = out_.use;
    if (!use.empty() && use.back().time >= time)
        use.back() = {use.back().time, allocated, resident};
    else
        use.push_back({time, allocated, resident});
    if (use.size() < most_uses)
        return;
    std::size_t kept = 0; // every second goes
    for (std::size_t i = 0; i < use.size(); i += 2)
        use[kept++] = use[i];
    use.resize(kept);
}

} // namespace umadvisor::html

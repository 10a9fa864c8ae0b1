#include "analyzer/html/timeline.hpp"

#include "analyzer/facts/calls.hpp"
#include "analyzer/html/blocks.hpp"
#include "analyzer/html/fault_times.hpp"
#include "analyzer/html/steps.hpp"
#include "analyzer/model/own_calls.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/timeline/clock.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>

namespace umadvisor::html {

/// What the pass knows of a call when the clock has placed it.
struct Tag {
    Cause cause{};
    bool is_kernel = false;
    std::uint32_t from = 0, to = 0; ///< processors that a copy goes between; alike: none
    std::uint32_t name = 0;
    Worst* worst = nullptr; ///< of the calls of its stack; nullptr: of none, or of one too many
    std::uint64_t stack = 0;
    std::vector<std::uint32_t> lines; ///< that a kernel reaches
    Steps::Rounds* rounds = nullptr;  ///< of a kernel
};

namespace {

constexpr std::size_t thread_bins = 8192, stream_bins = 8192;
constexpr std::size_t most_calls = 50'000, most_causes = 150'000, most_work = 50'000; ///< in exact order
constexpr double late_ns = 30e6; ///< events of managed memory are told so much later at the most
constexpr std::size_t most_late = 1 << 16;
constexpr std::size_t most_names = 20'000, most_uses = 1 << 14, most_parts = 4096, most_worst = 1 << 16;

} // namespace

class Pass : public PlacementSink {
public:
    explicit Pass(reports::Report& report)
        : report_(report),
          profile_(report.profile),
          facts_(profile_.trace(), profile_.rates()),
          clock_([this](const timeline::Settled& settled) { settle(settled); }),
          placement_(*this, profile_.rates().prefetch_to_device),
          blocks_(profile_.rates().prefetch_to_device),
          closeups_(reach(profile_)),
          exact_totals_(profile_.managed().totals().exact() != nullptr) {
        clock_.know(profile_.clock());
        out_.span = {0, std::max(1.0, static_cast<double>(profile_.duration_ns()))};
        out_.names.emplace_back();
        out_.lines.reserve(Timeline::most_lines + 1);
        for (const auto& [site, totals] : profile_.allocations().sites())
            if (site.stack != 0)
                line_stacks_[site.stack] = report.symbolizer.line_stack(site.stack);
        watch();
    }

    void run() {
        reader::TraceFile file(profile_.trace().file.source().opened());
        reader::EventStream events(file, profile_.trace().choice());
        while (const reader::ThreadCursor* const cursor = events.next())
            take(*cursor);
        clock_.finish();
        while (!late_.empty())
            place_next();
        placement_.finish(out_.span.end);
        if (all_moves_told_) // else nobody knows where a block is
            out_.blocks = blocks_.finish(out_.span.end);
        finish_rows();
    }
    Timeline finish() {
        steps_.finish(out_, report_.symbolizer);
        return std::move(out_);
    }

    void stay(std::uint32_t line, std::uint32_t number, double begin, double end, std::uint64_t bytes,
              const std::array<float, places>& shares) override;
    void move(std::uint32_t line, std::uint32_t number, double time, bool up, MoveCause cause,
              std::uint64_t bytes) override;
    void use(double time, std::uint64_t allocated, std::uint64_t resident) override;

private:
    struct Later {
        bool operator()(const PlaceStep& a, const PlaceStep& b) const { return a.time > b.time; }
    };

    static double reach(const model::Profile& profile);
    void watch();
    double at(std::uint64_t ticks) const { return static_cast<double>(profile_.trace().time.at(ticks)); }
    double length(std::uint64_t ticks) const { return static_cast<double>(profile_.nanoseconds(ticks)); }

    void take(const reader::ThreadCursor& cursor);
    Tag* tag_of(const reader::ThreadCursor& cursor);
    template <class Record>
    Tag* tag_of_call(const Record& record);
    Tag* tag_of_launch(const reader::ThreadCursor& cursor);
    Tag* known(Cause cause, const Named& named, bool is_kernel, std::pair<std::uint32_t, std::uint32_t> way,
               const std::vector<std::uint32_t>& lines);
    std::pair<std::uint32_t, std::uint32_t> way_of(const trace::Copy& record) const;
    std::uint32_t name_of(const Named& named);

    void step(const PlaceStep& step) {
        if (!any_managed_) { // nothing comes late
            placement_.take(step);
            return blocks_.take(step);
        }
        late_.push(step);
        while (!late_.empty() && (late_.size() > most_late || late_.top().time + late_ns < now_))
            place_next();
    }
    void place_next() {
        const PlaceStep next = late_.top();
        late_.pop();
        placement_.take(next);
        blocks_.take(next);
    }
    PlaceStep step_at(PlaceStep::Kind kind, double time, std::uint64_t allocation) const {
        PlaceStep result;
        result.kind = kind;
        result.time = result.until = time;
        result.allocation = allocation;
        result.moves_told = moves_told_;
        return result;
    }

    void add(const trace::Context& record) {
        if (record.status == 0 && record.context != 0)
            used_.insert(static_cast<std::uint32_t>(record.device));
    }
    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Copy& record);
    void add(const trace::Set& record);
    void add(const trace::Sync& record);
    void add(const trace::Prefetch& record);
    void add(const trace::Advise& record);
    void add(const trace::Residency& record);
    void add(const trace::ManagedEvent& record);
    void add(const trace::ManagedCounters& record);
    void add(const trace::ManagedDetail& record) {
        moves_told_ = (record.kinds >> 3 & 1) != 0;
        all_moves_told_ = all_moves_told_ && moves_told_ && record.lost == 0;
    }
    template <class Record>
    void add(const Record&) {}

    std::uint32_t line_of(const trace::Alloc& record);
    void settle(const timeline::Settled& settled);
    void settle_thread(const timeline::Settled& settled, const Tag& tag);
    void settle_work(const timeline::Settled& settled, const Tag& tag);
    Worst* worst_of(std::uint64_t stack);
    void note_worst(const Tag& tag, double begin, double call_length);
    void add_piece(PieceRow& row, Sight::Of of, std::size_t number, const Piece& piece);
    void take_closeups();
    void carry(std::uint32_t from, std::uint32_t to, double begin, double end, std::uint64_t bytes);
    void reached(const Tag& tag, double begin, double end);

    void finish_rows();

    reports::Report& report_;
    const model::Profile& profile_;
    Timeline out_;
    facts::Calls facts_;
    timeline::Clock clock_;
    Placement placement_;
    Blocks blocks_;
    Closeups closeups_;
    std::set<std::uint64_t> watched_; ///< stacks
    bool exact_totals_, moves_told_ = false, all_moves_told_ = true, any_managed_ = false;
    std::vector<std::uint64_t> tids_; ///< by reader's index
    double now_ = 0;
    std::priority_queue<PlaceStep, std::vector<PlaceStep>, Later> late_;
    std::deque<Tag> tags_;
    std::map<std::tuple<Cause, Named, std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>,
             Tag*>
        known_;
    reader::FlatMap<std::vector<Tag*>> recent_; ///< by stack, those of calls
    std::vector<std::vector<Tag*>> shapes_;     ///< by thread and place in its chunk
    std::map<Named, std::uint32_t> names_;
    std::unordered_map<std::uint64_t, std::uint64_t> line_stacks_; ///< of allocations
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, trace::Memory>, std::uint32_t> lines_;
    reader::FlatMap<std::vector<std::uint32_t>> recent_lines_; ///< by stack of their allocations
    reader::FlatMap<std::uint32_t> managed_;                   ///< line of live managed allocations
    reader::FlatMap<std::uint32_t> held_;                      ///< of all live ones
    reader::FlatMap<std::uint32_t> devices_;                   ///< of live ones that are not on the host
    std::set<std::uint32_t> used_;                             ///< devices
    std::vector<double> thread_ends_, stream_ends_;
    FaultTimes fault_times_;
    trace::ManagedCounters totals_;
    double totals_at_ = 0;
    double prefetched_up_ = 0, prefetched_down_ = 0;
    Steps steps_;
};

void Pass::take(const reader::ThreadCursor& cursor) {
    if (report_.statistics)
        report_.statistics->observe(cursor);
    now_ = std::max(now_, at(cursor.time()));
    if (cursor.index() >= tids_.size())
        tids_.resize(cursor.index() + 1);
    tids_[cursor.index()] = cursor.thread();
    if (const auto* const time = std::get_if<trace::DeviceTime>(&cursor.event()))
        clock_.measured(
            time->sample,
            static_cast<double>(time->nanoseconds - std::min(time->nanoseconds, time->floor_nanoseconds)));
    std::optional<facts::Call> call = facts_.next(cursor);
    Tag* const tag = tag_of(cursor);
    if (call) {
        call->owner = tag;
        clock_.add(*call);
    }
    std::visit(
        [&](const auto& record) {
            using Record = std::remove_cvref_t<decltype(record)>;
            if constexpr (std::is_same_v<Record, trace::Range>)
                steps_.add(record, cursor.index(), at(record.start), out_.span.end);
            else
                add(record);
        },
        cursor.event());
}

std::uint32_t Pass::name_of(const Named& named) {
    const auto [found, fresh] = names_.try_emplace(named, 0);
    if (fresh && out_.names.size() < most_names) {
        found->second = static_cast<std::uint32_t>(out_.names.size());
        out_.names.push_back(named);
    }
    return found->second;
}

Tag* Pass::known(Cause cause, const Named& named, bool is_kernel, std::pair<std::uint32_t, std::uint32_t> way,
                 const std::vector<std::uint32_t>& lines) {
    Tag*& tag = known_[{cause, named, way, lines}];
    if (tag == nullptr) {
        tags_.push_back({cause, is_kernel, way.first, way.second, name_of(named), worst_of(named.stack),
                         named.stack, lines, nullptr});
        tag = &tags_.back();
        if (is_kernel)
            tag->rounds = &steps_.rounds(named.stack);
        constexpr std::size_t most_watched = 40; // the first launches beside what was chosen
        if (is_kernel && watched_.size() < most_watched)
            watched_.insert(named.stack);
        if (tag->worst != nullptr)
            tag->worst->watched = watched_.contains(named.stack);
    }
    return tag;
}

template <class Record>
Tag* Pass::tag_of_call(const Record& record) {
    if constexpr (requires {
                      record.stack;
                      record.entry;
                      record.duration;
                  }) {
        constexpr bool copies = std::is_same_v<Record, trace::Copy> || std::is_same_v<Record, trace::Set> ||
                                std::is_same_v<Record, trace::Prefetch>;
        constexpr bool allocates = std::is_same_v<Record, trace::Alloc> || std::is_same_v<Record, trace::Free>;
        constexpr double long_context = 1e6;
        Cause cause = copies ? Cause::copies : allocates ? Cause::allocation : Cause::calls;
        if constexpr (std::is_same_v<Record, trace::Context>)
            if (length(record.duration) > long_context)
                cause = Cause::start;
        std::pair<std::uint32_t, std::uint32_t> way{};
        if constexpr (std::is_same_v<Record, trace::Copy>)
            way = way_of(record);
        // Most calls come again at once.
        std::vector<Tag*>& recent = recent_[record.stack];
        for (Tag* const tag : recent)
            if (tag->cause == cause && out_.names[tag->name].entry == record.entry && tag->from == way.first &&
                tag->to == way.second)
                return tag;
        Tag* const tag =
            known(cause, {record.entry, 0, record.stack}, std::is_same_v<Record, trace::GraphLaunch>, way, {});
        if (tag->name != 0)
            recent.push_back(tag);
        return tag;
    } else {
        return nullptr;
    }
}

/// Nothing where it crosses no link.
std::pair<std::uint32_t, std::uint32_t> Pass::way_of(const trace::Copy& record) const {
    const auto end = [this](trace::Memory memory, std::uint64_t allocation) -> std::uint32_t {
        if (model::is_host_memory(memory))
            return 0;
        const std::uint32_t* const device = devices_.find(allocation);
        return device == nullptr ? 1 : *device + 1;
    };
    const std::uint32_t from = end(record.source_memory, record.source_allocation),
                        to = end(record.destination_memory, record.destination_allocation);
    // Where managed memory lies is not known, but that the other end is on the host.
    const bool managed =
        record.source_memory == trace::Memory::managed || record.destination_memory == trace::Memory::managed;
    return managed && from != 0 && to != 0 ? std::pair(0u, 0u) : std::pair(from, to);
}

Tag* Pass::tag_of_launch(const reader::ThreadCursor& cursor) {
    const reader::Shape* const shape = cursor.shape();
    if (shape == nullptr)
        return nullptr;
    if (cursor.index() >= shapes_.size())
        shapes_.resize(cursor.index() + 1);
    std::vector<Tag*>& shapes = shapes_[cursor.index()];
    if (shape->place >= shapes.size())
        shapes.resize(shape->place + 1);
    Tag*& tag = shapes[shape->place];
    if (tag == nullptr) {
        std::vector<std::uint32_t> lines;
        for (const std::uint64_t allocation : shape->touched)
            if (const std::uint32_t* const line = held_.find(allocation))
                lines.push_back(*line);
        std::ranges::sort(lines);
        lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
        tag = known(Cause::calls, {shape->entry, shape->function, shape->stack}, true, {}, lines);
    }
    const auto& record = std::get<trace::Launch>(cursor.event());
    if (record.status == 0 && !shape->captured && !managed_.empty())
        for (const std::uint64_t allocation : shape->touched)
            if (managed_.contains(allocation))
                step(step_at(PlaceStep::Kind::launch, at(record.start), allocation));
    return tag;
}

Tag* Pass::tag_of(const reader::ThreadCursor& cursor) {
    if (std::holds_alternative<trace::Launch>(cursor.event()))
        return tag_of_launch(cursor);
    if (std::holds_alternative<trace::LaunchShape>(cursor.event())) {
        if (cursor.index() < shapes_.size() && cursor.defined() != nullptr &&
            cursor.defined()->place < shapes_[cursor.index()].size())
            shapes_[cursor.index()][cursor.defined()->place] = nullptr;
        return nullptr;
    }
    return std::visit([this](const auto& record) { return tag_of_call(record); }, cursor.event());
}

// What happens to memory.

std::uint32_t Pass::line_of(const trace::Alloc& record) {
    std::vector<std::uint32_t>& recent = recent_lines_[record.stack];
    for (const std::uint32_t number : recent)
        if (const LineRow& line = out_.lines[number];
            line.entry == record.entry && line.symbol == record.symbol && line.memory == record.memory)
            return number;
    const auto same_line = line_stacks_.find(record.stack);
    const std::uint64_t stack = same_line == line_stacks_.end() ? record.stack : same_line->second;
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
    if (record.status != 0 || record.captured != 0 || record.allocation == 0 || record.bytes == 0)
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
    if (!model::is_host_memory(record.memory)) {
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
    if (record.status != 0 || record.captured != 0 || record.allocation == 0)
        return;
    held_.erase(record.allocation);
    devices_.erase(record.allocation);
    managed_.erase(record.allocation);
    step(step_at(PlaceStep::Kind::free, at(record.start), record.allocation));
}

void Pass::add(const trace::Copy& record) {
    if (record.status != 0 || record.captured != 0)
        return;
    const bool from_host = model::is_host_memory(record.source_memory);
    const bool to_host = model::is_host_memory(record.destination_memory);
    const auto tell = [&](std::uint64_t allocation, trace::Memory memory, bool up) {
        if (allocation == 0)
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
    if (record.status == 0 && model::waits_for_work(record) && !managed_.empty())
        step(step_at(PlaceStep::Kind::wait, at(record.start + record.duration), 0));
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
    PlaceStep event = step_at(PlaceStep::Kind::host_fault, at(record.start), 0);
    event.address = record.address;
    event.bytes = record.bytes;
    switch (record.kind) {
    case Kind::host_fault:
        fault_times_.host_fault(event.time, record.thread);
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
        out_.told_moves = true;
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
    if (any_managed_) {
        PlaceStep told = step_at(PlaceStep::Kind::totals, now, 0);
        told.bytes = reader::saturated(interval.up);
        told.on_host = reader::saturated(interval.down);
        step(told);
    }
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
        line.binned_moves.resize(5 * LineRow::bins);
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
        if (part >= line.parts.size())
            line.parts.resize(part + 1);
        AllocationPart& life = line.parts[part];
        if (life.bytes == 0)
            life = {begin, end, bytes, 0, part};
        life.end = end;
    } else {
        line.stays_exact = false;
        line.stays = {};
    }
    StayPiece piece{begin, end, part, {}};
    for (std::size_t place = 0; place < places; ++place)
        piece.shares[place] = static_cast<std::uint8_t>(std::lround(shares[place] * 255));
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
    (up ? line.moved_up : line.moved_down) += bytes;
    if (line.binned_moves.empty())
        line.binned_moves.resize(5 * LineRow::bins);
    const double place = (time - out_.span.begin) / out_.span.length() * LineRow::bins;
    const auto bin = static_cast<std::size_t>(std::clamp(place, 0.0, LineRow::bins - 1.0));
    line.binned_moves[static_cast<std::size_t>(cause) * LineRow::bins + bin] += static_cast<float>(bytes);
    if (part < line.parts.size())
        line.parts[part].moved += bytes;
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

// When calls and their work were.

/// How much of the run goes into a closeup on either side: so many records, on average. 0: no row will have
/// more pieces than it may.
double Pass::reach(const model::Profile& profile) {
    constexpr std::uint64_t records = 250;
    return profile.records() < LineRow::most_moves
               ? 0
               : static_cast<double>(profile.duration_ns()) * records / static_cast<double>(profile.records());
}

/// Findings are about lines whose calls took long: of each, the stack that took most. The stacks of launches
/// follow as they come.
void Pass::watch() {
    constexpr std::size_t most_stacks = 512, most_lines = 24;
    using Weighed = std::vector<std::pair<std::uint64_t, std::uint64_t>>; // ticks and stack
    const auto keep_longest = [](Weighed& list, std::size_t most) {
        const std::size_t kept = std::min(most, list.size());
        std::ranges::partial_sort(list, list.begin() + static_cast<std::ptrdiff_t>(kept),
                                  std::ranges::greater{});
        list.resize(kept);
    };
    if (reach(profile_) <= 0)
        return;
    Weighed stacks;
    for (const auto& [site, ticks] : profile_.waits().ticks())
        stacks.emplace_back(ticks, site.stack);
    keep_longest(stacks, most_stacks);
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> lines; // ticks, and the first stack
    for (const auto& [ticks, stack] : stacks)
        lines.try_emplace(report_.symbolizer.line_stack(stack), 0, stack).first->second.first += ticks;
    Weighed longest;
    for (const auto& [line, weighed] : lines)
        longest.push_back(weighed);
    keep_longest(longest, most_lines);
    for (const auto& [ticks, stack] : longest)
        watched_.insert(stack);
}

Worst* Pass::worst_of(std::uint64_t stack) {
    if (stack == 0 || (out_.calls.size() >= most_worst && !out_.calls.contains(stack)))
        return nullptr;
    return &out_.calls[stack];
}

void Pass::note_worst(const Tag& tag, double begin, double call_length) {
    Worst& worst = *tag.worst;
    if (worst.last == 0)
        worst.first = begin;
    worst.last = begin + call_length;
    if (call_length > worst.length) {
        worst.length = call_length;
        worst.time = begin;
        if (worst.watched)
            closeups_.longest(tag.stack, begin, begin + call_length);
    }
}

void Pass::settle(const timeline::Settled& settled) {
    if (settled.call.owner == nullptr)
        return;
    const Tag& tag = *static_cast<const Tag*>(settled.call.owner);
    settle_thread(settled, tag);
    if (settled.call.queues == facts::Queues::work)
        settle_work(settled, tag);
    if (settled.waited_ns > 0 && settled.call.waits != facts::Waits::itself) {
        // What it waited for was done when it returned.
        const double end = settled.call.start + settled.call.duration;
        for (std::size_t i = 0; i < stream_ends_.size(); ++i)
            if (settled.call.waits == facts::Waits::device || i == settled.call.stream.number)
                stream_ends_[i] = std::min(stream_ends_[i], end);
    }
    if (tag.worst != nullptr)
        note_worst(tag, settled.call.start,
                   tag.is_kernel ? std::max(settled.call.duration, settled.device_ns) : settled.call.duration);
}

void Pass::add_piece(PieceRow& row, Sight::Of of, std::size_t number, const Piece& piece) {
    row.add(piece);
    closeups_.add({piece.begin, piece.end, 0, static_cast<std::uint32_t>(number), piece.name, of,
                   static_cast<std::uint8_t>(piece.state)});
}

void Pass::settle_thread(const timeline::Settled& settled, const Tag& tag) {
    const facts::Call& call = settled.call;
    if (call.thread >= Timeline::most_threads)
        return;
    if (call.thread >= out_.threads.size()) {
        out_.threads.resize(call.thread + 1);
        thread_ends_.resize(call.thread + 1);
    }
    std::unique_ptr<ThreadRow>& thread = out_.threads[call.thread];
    if (!thread) {
        thread.reset(new ThreadRow{0, PieceRow(out_.span, causes, thread_bins, most_causes),
                                   PieceRow(out_.span, 1, thread_bins, most_calls)});
        thread_ends_[call.thread] = call.thread == 0 ? 0 : call.start;
    }
    double at = std::max(call.start, thread_ends_[call.thread]);
    const double end = std::max(at, call.start + call.duration);
    ++thread->call_count;
    const double waited = std::min(end, at + std::max(0.0, settled.waited_ns));
    add_piece(thread->calls, Sight::Of::calls, call.thread, {at, end, 0, tag.name});
    const auto add = [&](double from, double until, Cause cause, std::uint32_t name) {
        add_piece(thread->causes, Sight::Of::causes, call.thread,
                  {from, until, static_cast<std::uint32_t>(cause), name});
    };
    add(thread_ends_[call.thread], at, Cause::code, 0);
    add(at, waited, Cause::kernels, tag.name);
    add(waited, end, tag.cause, tag.name);
    thread_ends_[call.thread] = end;
}

void Pass::reached(const Tag& tag, double begin, double end) {
    for (const std::uint32_t number : tag.lines) {
        LineRow& line = out_.lines[number];
        closeups_.add({begin, end, 0, number, 0, Sight::Of::launch});
        if (!line.launches_exact)
            continue;
        line.launches.emplace_back(begin, end);
        if (line.launches.size() > LineRow::most_launches) {
            line.launches_exact = false;
            line.launches = {};
        }
    }
}

void Pass::carry(std::uint32_t from, std::uint32_t to, double begin, double end, std::uint64_t bytes) {
    const std::uint32_t link = out_.carry(from, to, begin, end, static_cast<double>(bytes));
    closeups_.add({begin, std::max(end, begin + 1), bytes, link, 0, Sight::Of::link});
}

void Pass::settle_work(const timeline::Settled& settled, const Tag& tag) {
    const facts::Call& call = settled.call;
    const std::uint32_t number = call.stream.number;
    if (number >= Timeline::most_streams)
        return;
    if (number >= out_.streams.size()) {
        out_.streams.resize(number + 1);
        stream_ends_.resize(number + 1);
    }
    std::unique_ptr<StreamRow>& stream = out_.streams[number];
    if (!stream)
        stream.reset(new StreamRow{call.stream.legacy, number, call.stream.device,
                                   PieceRow(out_.span, 3, stream_bins, most_work)});
    // As the replay fitted it; a call that waits for its work returns no sooner.
    double end = settled.work_end_ns;
    if (call.waits == facts::Waits::itself)
        end = std::min(end, call.start + call.duration);
    const double begin = std::max(stream_ends_[number], end - std::max(1.0, settled.device_ns));
    end = std::max(end, begin + 1);
    add_piece(stream->work, Sight::Of::work, number,
              {begin, end, static_cast<std::uint32_t>(tag.is_kernel ? Work::kernel : Work::copy), tag.name});
    stream_ends_[number] = end;
    ++(tag.is_kernel ? stream->kernels : stream->copies);
    if (tag.is_kernel) {
        reached(tag, begin, end);
        steps_.launched(*tag.rounds, call.start);
    } else if (tag.from != tag.to) {
        carry(tag.from, tag.to, begin, end, call.bytes);
    }
}

// When all is known.

void Pass::take_closeups() {
    for (const auto& [stack, closeup] : closeups_.finish()) {
        Detail& detail = out_.details[stack];
        detail.begin = closeup.begin;
        detail.end = closeup.end;
        detail.from = std::max(out_.span.begin, closeup.from);
        detail.until = std::min(out_.span.end, closeup.until);
        for (const Sight& sight : closeup.sights) {
            const Piece piece{sight.begin, sight.end, sight.state, sight.number};
            LineRow* const line = sight.of >= Sight::Of::stay ? &detail.lines[sight.row] : nullptr;
            switch (sight.of) {
            case Sight::Of::causes:
                detail.causes[sight.row].push_back(piece);
                break;
            case Sight::Of::calls:
                detail.calls[sight.row].push_back(piece);
                break;
            case Sight::Of::work:
                detail.work[sight.row].push_back(piece);
                break;
            case Sight::Of::link:
                detail.link[sight.row].push_back({sight.begin, sight.end, static_cast<double>(sight.bytes)});
                break;
            case Sight::Of::stay:
                line->stays.push_back({sight.begin, sight.end, sight.number, sight.shares});
                line->parts.push_back(
                    sight.number < out_.lines[sight.row].parts.size()
                        ? out_.lines[sight.row].parts[sight.number]
                        : AllocationPart{sight.begin, sight.end, sight.bytes, 0, sight.number});
                break;
            case Sight::Of::move:
                line->moves.push_back({sight.begin, sight.bytes, sight.number, (sight.state & 1) != 0,
                                       static_cast<MoveCause>(sight.state >> 1)});
                break;
            case Sight::Of::launch:
                line->launches.emplace_back(sight.begin, sight.end);
                break;
            }
        }
        for (auto& [number, line] : detail.lines) {
            std::ranges::sort(line.parts, {}, &AllocationPart::number);
            const auto same = [](const AllocationPart& one, const AllocationPart& other) {
                return one.number == other.number;
            };
            line.parts.erase(std::unique(line.parts.begin(), line.parts.end(), same), line.parts.end());
        }
    }
}

void Pass::finish_rows() {
    double most = -1;
    for (std::size_t i = 0; i < out_.threads.size(); ++i) {
        ThreadRow* const thread = out_.threads[i].get();
        if (thread == nullptr)
            continue;
        thread->tid = tids_[i];
        double in_calls = 0;
        for (std::size_t cause = 1; cause < causes; ++cause)
            in_calls += thread->causes.ns(cause);
        if (in_calls > most) {
            most = in_calls;
            out_.main = i;
        }
    }
    if (out_.main < out_.threads.size() && out_.threads[out_.main])
        add_piece(out_.threads[out_.main]->causes, Sight::Of::causes, out_.main,
                  {thread_ends_[out_.main], out_.span.end, static_cast<std::uint32_t>(Cause::code), 0});
    take_closeups();
    if (used_.size() == 1)
        out_.managed_at = *used_.begin() + 1;
    else if (!used_.empty())
        out_.managed_at = Link::any_device;
    fault_times_.place(out_, profile_.rates());
}

std::uint32_t Timeline::carry(std::uint32_t from, std::uint32_t to, double begin, double end, double bytes) {
    if (bytes <= 0)
        return 0;
    const std::uint32_t low = std::min(from, to), high = std::max(from, to);
    auto link =
        std::ranges::find_if(links, [&](const Link& each) { return each.low == low && each.high == high; });
    if (link == links.end()) {
        if (links.size() == most_links) // the last stands for all others
            --link;
        else
            link = links.insert(link, {low, high, {}, {}});
    }
    const bool upward = from < to;
    (upward ? link->up : link->down).add(span, begin, end, bytes);
    const std::uint32_t number = static_cast<std::uint32_t>(link - links.begin()) << 1 | (upward ? 0u : 1u);
    for (auto& [stack, detail] : details)
        if (begin < detail.until && end > detail.from)
            detail.link[number].push_back({begin, std::max(end, begin + 1), bytes});
    return number;
}

std::array<double, causes> Timeline::where() const {
    std::array<double, causes> result{};
    if (main < threads.size() && threads[main])
        for (std::size_t bin = 0; bin < threads[main]->causes.bins(); ++bin)
            for (std::size_t cause = 0; cause < causes; ++cause)
                result[cause] += threads[main]->causes.share(cause, bin) * span.length() /
                                 static_cast<double>(threads[main]->causes.bins());
    return result;
}

TimelinePass::TimelinePass(reports::Report& report) : pass_(std::make_unique<Pass>(report)) {}
TimelinePass::~TimelinePass() = default;

void TimelinePass::run() {
    pass_->run();
}

Timeline TimelinePass::finish() {
    return pass_->finish();
}

} // namespace umadvisor::html

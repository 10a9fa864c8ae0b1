#include "analyzer/html/timeline.hpp"

#include "analyzer/facts/calls.hpp"
#include "analyzer/model/own_calls.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/timeline/clock.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <queue>
#include <unordered_map>

namespace umadvisor::html {

/// What the pass knows of a call when the clock has placed it.
struct Tag {
    Cause cause{};
    bool is_kernel = false, is_prefetch = false;
    std::uint32_t name = 0;
    Worst* worst = nullptr; ///< of the calls of its stack; nullptr: of none, or of one too many
    std::uint64_t stack = 0;
    std::vector<std::uint32_t> lines; ///< that a kernel reaches
};

/// Between two readings of the driver's totals.
struct Interval {
    double begin = 0, end = 0;
    double up = 0, down = 0, host_faults = 0, device_faults = 0;
    double prefetched_up = 0, prefetched_down = 0;
};

struct HostFault {
    double time = 0;
    std::uint64_t tid = 0;
};

namespace {

constexpr std::size_t thread_bins = 8192, stream_bins = 8192;
constexpr std::size_t most_calls = 50'000, most_causes = 150'000, most_work = 50'000; ///< in exact order
constexpr double late_ns = 30e6; ///< events of managed memory are told so much later at the most
constexpr std::size_t most_late = 1 << 16;
constexpr std::size_t most_names = 20'000, most_intervals = 1 << 16, most_faults = 1 << 18, most_uses = 1 << 14,
                      most_steps = 20'000, most_rounds = 1 << 16, most_parts = 4096, most_worst = 1 << 16;

using Stretch = std::pair<double, double>;
using Stretches = std::vector<Stretch>; ///< in order, apart

/// Changes the state of what lies in `where`, of pieces whose state is `from`.
std::vector<Piece> overlaid(const std::vector<Piece>& pieces, std::uint32_t from, std::uint32_t to,
                            const Stretches& where) {
    std::vector<Piece> result;
    std::size_t next = 0;
    for (const Piece& piece : pieces) {
        while (next < where.size() && where[next].second <= piece.begin)
            ++next;
        if (piece.state != from) {
            result.push_back(piece);
            continue;
        }
        double at = piece.begin;
        for (std::size_t i = next; i < where.size() && where[i].first < piece.end; ++i) {
            const double begin = std::max(at, where[i].first), end = std::min(piece.end, where[i].second);
            if (end <= begin)
                continue;
            result.push_back({at, begin, piece.state, piece.name});
            result.push_back({begin, end, to, piece.name});
            at = end;
        }
        result.push_back({at, piece.end, piece.state, piece.name});
    }
    std::erase_if(result, [](const Piece& piece) { return piece.end <= piece.begin; });
    return result;
}

void overlay(PieceRow& row, std::initializer_list<std::uint32_t> from, std::uint32_t to, const Stretches& where,
             const Span& span) {
    if (row.exact()) {
        std::vector<Piece> pieces = row.pieces();
        for (const std::uint32_t state : from)
            pieces = overlaid(pieces, state, to, where);
        if (pieces.size() <= row.most())
            return row.replace(std::move(pieces));
    }
    std::vector<float> covered(row.bins());
    for (const Stretch& each : where)
        for_bins(span, row.bins(), each.first, each.second,
                 [&](std::size_t bin, double part) { covered[bin] += static_cast<float>(part); });
    for (const std::uint32_t state : from)
        for (std::size_t bin = 0; bin < row.bins(); ++bin) {
            const float taken = std::min(covered[bin], row.share(state, bin));
            row.share(state, bin) -= taken;
            row.share(to, bin) += taken;
            covered[bin] -= taken;
        }
}

Stretches tidy(Stretches list) {
    std::ranges::sort(list);
    Stretches result;
    for (const Stretch& each : list) {
        if (each.second <= each.first)
            continue;
        if (!result.empty() && each.first <= result.back().second)
            result.back().second = std::max(result.back().second, each.second);
        else
            result.push_back(each);
    }
    return result;
}

void add_link(LinkRow& row, const Span& span, double begin, double end, double bytes) {
    constexpr std::size_t most = 12'000;
    if (bytes <= 0)
        return;
    end = std::max(end, begin + 1);
    row.bytes += bytes;
    for_bins(span, LinkRow::bins, begin, end, [&](std::size_t bin, double part) {
        row.binned[bin] += bytes * part * span.length() / static_cast<double>(LinkRow::bins) / (end - begin);
    });
    if (!row.exact)
        return;
    row.pieces.push_back({begin, end, bytes});
    if (row.pieces.size() > most) {
        row.pieces = {};
        row.exact = false;
    }
}

} // namespace

class Pass : public PlacementSink {
public:
    explicit Pass(reports::Report& report)
        : report_(report),
          profile_(report.profile),
          facts_(profile_.trace(), profile_.rates()),
          clock_([this](const timeline::Settled& settled) { settle(settled); }),
          placement_(*this, profile_.rates().prefetch_to_device),
          exact_totals_(profile_.managed().totals().exact() != nullptr) {
        clock_.know(profile_.clock());
        out_.span = {0, std::max(1.0, static_cast<double>(profile_.duration_ns()))};
        out_.names.emplace_back();
        out_.lines.reserve(Timeline::most_lines + 1);
        for (const auto& [site, totals] : profile_.allocations().sites())
            if (site.stack != 0)
                line_stacks_[site.stack] = report.symbolizer.line_stack(site.stack);
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
        finish_rows();
    }
    Timeline finish() {
        finish_steps();
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

    double at(std::uint64_t ticks) const { return static_cast<double>(profile_.trace().time.at(ticks)); }
    double length(std::uint64_t ticks) const { return static_cast<double>(profile_.nanoseconds(ticks)); }

    void take(const reader::ThreadCursor& cursor);
    Tag* tag_of(const reader::ThreadCursor& cursor);
    template <class Record>
    Tag* tag_of_call(const Record& record);
    Tag* tag_of_launch(const reader::ThreadCursor& cursor);
    Tag* known(Cause cause, const Named& named, bool is_kernel, bool is_prefetch,
               const std::vector<std::uint32_t>& lines);
    std::uint32_t name_of(const Named& named);

    void step(const PlaceStep& step) {
        if (!any_managed_) // nothing comes late
            return placement_.take(step);
        late_.push(step);
        while (!late_.empty() && (late_.size() > most_late || late_.top().time + late_ns < now_))
            place_next();
    }
    void place_next() {
        const PlaceStep next = late_.top();
        late_.pop();
        placement_.take(next);
    }
    PlaceStep step_at(PlaceStep::Kind kind, double time, std::uint64_t allocation) const {
        PlaceStep result;
        result.kind = kind;
        result.time = result.until = time;
        result.allocation = allocation;
        result.moves_told = moves_told_;
        return result;
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
    void add(const trace::ManagedDetail& record) { moves_told_ = (record.kinds >> 3 & 1) != 0; }
    void add(const trace::Range& record, std::uint32_t thread);
    template <class Record>
    void add(const Record&) {}

    std::uint32_t line_of(const trace::Alloc& record);
    void settle(const timeline::Settled& settled);
    void settle_thread(const timeline::Settled& settled, const Tag& tag);
    void settle_work(const timeline::Settled& settled, const Tag& tag);
    Worst* worst_of(std::uint64_t stack);
    static void note_worst(Worst& worst, double begin, double call_length);
    void reached(const Tag& tag, double begin, double end);

    void finish_rows();
    Stretches stalls() const;
    void place_faults(const Stretches& stalled);
    void finish_steps();

    reports::Report& report_;
    const model::Profile& profile_;
    Timeline out_;
    facts::Calls facts_;
    timeline::Clock clock_;
    Placement placement_;
    bool exact_totals_, moves_told_ = false, any_managed_ = false;
    std::vector<std::uint64_t> tids_; ///< by reader's index
    double now_ = 0;
    std::priority_queue<PlaceStep, std::vector<PlaceStep>, Later> late_;
    std::deque<Tag> tags_;
    std::map<std::tuple<Cause, Named, std::vector<std::uint32_t>>, Tag*> known_;
    std::unordered_map<std::uint64_t, std::vector<Tag*>> recent_; ///< by stack, those of calls
    std::vector<std::vector<Tag*>> shapes_;                       ///< by thread and place in its chunk
    std::map<Named, std::uint32_t> names_;
    std::unordered_map<std::uint64_t, std::uint64_t> line_stacks_; ///< of allocations
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, trace::Memory>, std::uint32_t> lines_;
    std::unordered_map<std::uint64_t, std::uint32_t> managed_; ///< line of live managed allocations
    std::unordered_map<std::uint64_t, std::uint32_t> held_;    ///< of all live ones
    std::vector<double> thread_ends_, stream_ends_;
    std::vector<Interval> intervals_;
    trace::ManagedCounters totals_;
    double totals_at_ = 0;
    double prefetched_up_ = 0, prefetched_down_ = 0;
    std::vector<HostFault> faults_;
    std::vector<std::vector<std::size_t>> open_steps_;                                        ///< by thread
    std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::vector<double>>> rounds_; ///< by stack
    std::size_t rounds_kept_ = 0;
};

void Pass::take(const reader::ThreadCursor& cursor) {
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
                add(record, cursor.index());
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

Tag* Pass::known(Cause cause, const Named& named, bool is_kernel, bool is_prefetch,
                 const std::vector<std::uint32_t>& lines) {
    Tag*& tag = known_[{cause, named, lines}];
    if (tag == nullptr) {
        tags_.push_back(
            {cause, is_kernel, is_prefetch, name_of(named), worst_of(named.stack), named.stack, lines});
        tag = &tags_.back();
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
        // Most calls come again at once.
        for (Tag* const tag : recent_[record.stack])
            if (tag->cause == cause && out_.names[tag->name].entry == record.entry)
                return tag;
        Tag* const tag =
            known(cause, {record.entry, 0, record.stack}, std::is_same_v<Record, trace::GraphLaunch>,
                  std::is_same_v<Record, trace::Prefetch>, {});
        if (tag->name != 0)
            recent_[record.stack].push_back(tag);
        return tag;
    } else {
        return nullptr;
    }
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
            if (const auto found = held_.find(allocation); found != held_.end())
                lines.push_back(found->second);
        std::ranges::sort(lines);
        lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
        tag = known(Cause::calls, {shape->entry, shape->function, shape->stack}, true, false, lines);
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
        if (faults_.size() < most_faults)
            faults_.push_back({event.time, record.thread});
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
        if (!exact_totals_ && (record.from == 0 || record.to == 0)) // else from device to device
            add_link(event.up ? out_.up : out_.down, out_.span, event.time,
                     event.time + length(record.duration), static_cast<double>(record.bytes));
        break;
    }
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
    if (interval.up + interval.down + interval.host_faults + interval.device_faults == 0 ||
        now <= interval.begin)
        return;
    intervals_.push_back(interval);
    if (intervals_.size() < most_intervals)
        return;
    std::size_t kept = 0; // two become one
    for (std::size_t i = 0; i + 1 < intervals_.size(); i += 2) {
        Interval both = intervals_[i];
        const Interval& other = intervals_[i + 1];
        both.end = other.end;
        both.up += other.up;
        both.down += other.down;
        both.host_faults += other.host_faults;
        both.device_faults += other.device_faults;
        both.prefetched_up += other.prefetched_up;
        both.prefetched_down += other.prefetched_down;
        intervals_[kept++] = both;
    }
    intervals_.resize(kept);
}

void Pass::add(const trace::Range& record, std::uint32_t thread) {
    if (thread >= open_steps_.size())
        open_steps_.resize(thread + 1);
    std::vector<std::size_t>& open = open_steps_[thread];
    constexpr std::size_t deepest = 2;
    if (record.action == trace::RangeAction::push) {
        if (open.size() < deepest && out_.steps.size() < most_steps) {
            open.push_back(out_.steps.size());
            out_.steps.push_back({at(record.start), out_.span.end, record.text,
                                  static_cast<std::uint32_t>(open.size() - 1) | thread << 8});
        } else {
            open.push_back(SIZE_MAX);
        }
    } else if (record.action == trace::RangeAction::pop && !open.empty()) {
        if (open.back() != SIZE_MAX)
            out_.steps[open.back()].end = at(record.start);
        open.pop_back();
    }
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
            line.binned_stays[place * LineRow::bins + bin] +=
                weight * shares[place] * static_cast<float>(bytes);
    });
    if (part < most_parts) {
        if (part >= line.parts.size())
            line.parts.resize(part + 1);
        AllocationPart& life = line.parts[part];
        if (life.bytes == 0)
            life = {begin, end, bytes, 0};
        life.end = end;
    } else {
        line.stays_exact = false;
        line.stays = {};
    }
    if (!line.stays_exact)
        return;
    StayPiece piece{begin, end, part, {}};
    for (std::size_t place = 0; place < places; ++place)
        piece.shares[place] = static_cast<std::uint8_t>(std::lround(shares[place] * 255));
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

Worst* Pass::worst_of(std::uint64_t stack) {
    if (stack == 0 || (out_.calls.size() >= most_worst && !out_.calls.contains(stack)))
        return nullptr;
    return &out_.calls[stack];
}

void Pass::note_worst(Worst& worst, double begin, double call_length) {
    if (worst.last == 0)
        worst.first = begin;
    worst.last = begin + call_length;
    if (call_length > worst.length) {
        worst.length = call_length;
        worst.time = begin;
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
        note_worst(*tag.worst, settled.call.start, settled.call.duration);
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
    thread->calls.add({at, end, 0, tag.name});
    thread->causes.add({thread_ends_[call.thread], at, static_cast<std::uint32_t>(Cause::code), 0});
    const double waited = std::min(end, at + std::max(0.0, settled.waited_ns));
    thread->causes.add({at, waited, static_cast<std::uint32_t>(Cause::kernels), tag.name});
    thread->causes.add({waited, end, static_cast<std::uint32_t>(tag.cause), tag.name});
    thread_ends_[call.thread] = end;
}

void Pass::reached(const Tag& tag, double begin, double end) {
    for (const std::uint32_t number : tag.lines) {
        LineRow& line = out_.lines[number];
        if (!line.launches_exact)
            continue;
        line.launches.emplace_back(static_cast<float>(begin / out_.span.length()),
                                   static_cast<float>(end / out_.span.length()));
        if (line.launches.size() > LineRow::most_launches) {
            line.launches_exact = false;
            line.launches = {};
        }
    }
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
    double begin = std::max(stream_ends_[number], call.start);
    double end = begin + std::max(1.0, settled.device_ns);
    const double call_end = call.start + call.duration;
    if (call.waits == facts::Waits::itself && call_end > stream_ends_[number]) {
        end = std::min(end, call_end);
        begin = std::max(stream_ends_[number], end - settled.device_ns);
    } else if (begin < call_end && stream_ends_[number] <= call.start) {
        const double late = std::min(call_end, call.start + 5000) - begin; // the device is told within the call
        begin += late;
        end += late;
    }
    stream->work.add(
        {begin, end, static_cast<std::uint32_t>(tag.is_kernel ? Work::kernel : Work::copy), tag.name});
    stream_ends_[number] = end;
    ++(tag.is_kernel ? stream->kernels : stream->copies);
    if (tag.is_kernel) {
        reached(tag, begin, end);
        auto& [count, times] = rounds_[tag.stack];
        ++count;
        if (rounds_kept_ < most_rounds) {
            times.push_back(call.start);
            ++rounds_kept_;
        }
    } else if (call.engine != facts::Engine::none && !tag.is_prefetch) {
        add_link(call.engine == facts::Engine::up ? out_.up : out_.down, out_.span, begin, end,
                 static_cast<double>(call.bytes));
    }
}

// When all is known.

/// While the device had page faults: so much of its work in an interval as the faults and bytes that the driver
/// counted in it take at this machine's prices.
Stretches Pass::stalls() const {
    std::vector<const Piece*> work;
    for (const auto& stream : out_.streams)
        if (stream)
            for (const Piece& piece : stream->work.pieces())
                work.push_back(&piece);
    std::ranges::sort(work, {}, &Piece::begin);
    const machine::Rates& rates = profile_.rates();
    Stretches result;
    std::size_t next = 0;
    for (const Interval& interval : intervals_) {
        const double bytes = std::max(0.0, interval.up - interval.prefetched_up);
        double left =
            interval.device_faults > 0 ? rates.device_fault_ns + bytes / rates.fault_to_device * 1e9 : 0;
        while (next < work.size() && work[next]->end <= interval.begin)
            ++next;
        if (work.empty() && left > 0)
            result.emplace_back(interval.begin, std::min(interval.end, interval.begin + left));
        for (std::size_t i = next; i < work.size() && work[i]->begin < interval.end && left > 0; ++i) {
            const double begin = std::max(work[i]->begin, interval.begin);
            const double end = std::min({work[i]->end, interval.end, begin + left});
            if (end > begin)
                result.emplace_back(begin, end);
            left -= std::max(0.0, end - begin);
        }
    }
    return tidy(std::move(result));
}

/// The same of the host, behind each fault that was told; and the link's traffic, while either waits for it.
void Pass::place_faults(const Stretches& stalled) {
    std::ranges::sort(faults_, {}, &HostFault::time);
    const machine::Rates& rates = profile_.rates();
    // The most that the link carries, bytes a nanosecond.
    const double up_rate = std::max(rates.pinned_to_device, rates.prefetch_to_device) / 1e9;
    const double down_rate = std::max(rates.device_to_pinned, rates.prefetch_to_host) / 1e9;
    std::map<std::uint64_t, Stretches> by_thread;
    std::size_t next = 0, next_stall = 0;
    for (const Interval& interval : intervals_) {
        const double bytes = std::max(0.0, interval.down - interval.prefetched_down);
        const double price = interval.host_faults * rates.host_fault_ns +
                             (interval.host_faults > 0 ? bytes / rates.prefetch_to_host * 1e9 : 0);
        while (next < faults_.size() && faults_[next].time < interval.begin)
            ++next;
        std::size_t last = next;
        while (last < faults_.size() && faults_[last].time < interval.end)
            ++last;
        const double told = static_cast<double>(last - next);
        Stretches here;
        for (std::size_t i = next; i < last; ++i) {
            double end = std::min(faults_[i].time + price / told, interval.end);
            if (i + 1 < last)
                end = std::min(end, faults_[i + 1].time);
            by_thread[faults_[i].tid].emplace_back(faults_[i].time, end);
            here.emplace_back(faults_[i].time, end);
        }
        next = last;
        const auto spread = [&](LinkRow& row, const Stretches& where, std::size_t from, double all,
                                double rate) {
            double sum = 0;
            std::vector<Stretch> clipped;
            for (std::size_t i = from; i < where.size() && where[i].first < interval.end; ++i) {
                const double begin = std::max(where[i].first, interval.begin);
                const double end = std::min(where[i].second, interval.end);
                if (end > begin) {
                    clipped.emplace_back(begin, end);
                    sum += end - begin;
                }
            }
            if (sum * rate <= all) // all of it cannot have crossed then
                return add_link(row, out_.span, interval.begin, interval.end, all);
            for (const Stretch& each : clipped)
                add_link(row, out_.span, each.first, each.second, all * (each.second - each.first) / sum);
        };
        while (next_stall < stalled.size() && stalled[next_stall].second <= interval.begin)
            ++next_stall;
        spread(out_.up, stalled, next_stall, interval.up, up_rate);
        spread(out_.down, here, 0, interval.down, down_rate);
    }
    for (std::size_t i = 0; i < out_.threads.size(); ++i) {
        ThreadRow* const thread = out_.threads[i].get();
        if (thread == nullptr)
            continue;
        overlay(thread->causes,
                {static_cast<std::uint32_t>(Cause::kernels), static_cast<std::uint32_t>(Cause::copies)},
                static_cast<std::uint32_t>(Cause::device_faults), stalled, out_.span);
        if (const auto found = by_thread.find(thread->tid); found != by_thread.end())
            overlay(thread->causes, {static_cast<std::uint32_t>(Cause::code)},
                    static_cast<std::uint32_t>(Cause::host_faults), tidy(std::move(found->second)), out_.span);
    }
    for (const auto& stream : out_.streams)
        if (stream)
            overlay(stream->work,
                    {static_cast<std::uint32_t>(Work::kernel), static_cast<std::uint32_t>(Work::copy)},
                    static_cast<std::uint32_t>(Work::stalled), stalled, out_.span);
}

void Pass::finish_steps() {
    out_.named_steps = !out_.steps.empty();
    if (out_.named_steps) { // of one thread: the one with the most
        std::map<std::uint32_t, std::size_t> counts;
        for (const StepPiece& step : out_.steps)
            ++counts[step.depth >> 8];
        const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
        std::erase_if(out_.steps, [&](const StepPiece& step) { return step.depth >> 8 != most->first; });
        for (StepPiece& step : out_.steps)
            step.depth &= 0xff;
        return;
    }
    // A line may be reached by several ways.
    std::map<std::uint64_t, std::pair<std::uint64_t, std::vector<double>>> by_line;
    for (const auto& [stack, round] : rounds_) {
        auto& [count, line_times] = by_line[stack == 0 ? 0 : report_.symbolizer.line_stack(stack)];
        count += round.first;
        line_times.insert(line_times.end(), round.second.begin(), round.second.end());
    }
    std::uint64_t best = 0;
    std::vector<double>* times = nullptr;
    for (auto& [line, round] : by_line)
        if (round.first == round.second.size() && round.first > best) {
            best = round.first;
            out_.step_stack = line;
            times = &round.second;
        }
    constexpr std::size_t fewest = 3;
    if (times == nullptr || times->size() < fewest)
        return;
    std::ranges::sort(*times);
    out_.rounds = times->size();
    for (std::size_t i = 0; i < times->size() && i < most_steps; ++i)
        out_.steps.push_back({(*times)[i], i + 1 < times->size() ? (*times)[i + 1] : out_.span.end, 0, 0});
    out_.steps.back().end =
        std::min(out_.span.end, out_.steps.back().begin +
                                    (times->back() - times->front()) / static_cast<double>(times->size() - 1));
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
        out_.threads[out_.main]->causes.add(
            {thread_ends_[out_.main], out_.span.end, static_cast<std::uint32_t>(Cause::code), 0});
    place_faults(stalls());
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

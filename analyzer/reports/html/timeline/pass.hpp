/// The pass over the trace that fills the page's timeline.
#pragma once

#include "analyzer/facts/calls.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reports/html/timeline/blocks.hpp"
#include "analyzer/reports/html/timeline/fault_times.hpp"
#include "analyzer/reports/html/timeline/steps.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"
#include "analyzer/timeline/clock.hpp"

#include <deque>
#include <queue>
#include <set>
#include <unordered_map>

namespace umadvisor::html {

/// What the pass knows of a call when the clock has placed it.
struct Tag : facts::CallNote {
    Cause cause{};
    bool is_kernel = false;
    std::uint32_t from = 0, to = 0; ///< processors that a copy goes between; alike: none
    std::uint32_t name = 0;
    Worst* worst = nullptr; ///< of the calls of its stack; nullptr: of none, or of one too many
    ids::StackId stack{};
    std::vector<std::uint32_t> lines; ///< that a kernel reaches
    Steps::Rounds* rounds = nullptr;  ///< of a kernel
};

class Pass : public PlacementSink {
public:
    Pass(const rules::Profile& profile, symbols::Symbolizer& symbolizer, tables::Statistics* statistics)
        : profile_(profile),
          symbolizer_(symbolizer),
          statistics_(statistics),
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
            if (site.stack.known())
                line_stacks_[site.stack] = symbolizer.line_stack(site.stack);
        watch();
    }

    void run() {
        reader::TraceFile file(profile_.trace().file.source().opened());
        reader::read_count.found -= file.chunks().size(); // the trace's own count has them
        reader::EventStream events(file, profile_.trace().choice());
        while (const reader::ThreadCursor* const cursor = events.next())
            take(*cursor);
        clock_.finish();
        while (!late_.empty())
            place_next();
        placement_.finish(out_.span.end);
        if (all_moves_known_) // else it is unknown where a block is
            out_.blocks = blocks_.finish(out_.span.end);
        finish_rows();
    }
    Timeline finish(advice::Report* report) {
        steps_.finish(out_, symbolizer_);
        if (report != nullptr)
            bring_moves_to_account(*report);
        return std::move(out_);
    }

    void stay(std::uint32_t line, std::uint32_t number, double begin, double end, std::uint64_t bytes,
              const std::array<float, places>& shares) override;
    void move(std::uint32_t line, std::uint32_t number, double time, bool up, MoveCause cause,
              std::uint64_t bytes) override;
    void use(double time, std::uint64_t allocated, std::uint64_t resident) override;

private:
    static constexpr double late_ns = 30e6; ///< events of managed memory are reported at most so much later
    static constexpr std::size_t most_late = 1 << 16;

    struct Later {
        bool operator()(const PlaceStep& a, const PlaceStep& b) const { return a.time > b.time; }
    };

    static double reach(const rules::Profile& profile);
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
    PlaceStep step_at(PlaceStep::Kind kind, double time, trace::AllocationId allocation) const {
        PlaceStep result;
        result.kind = kind;
        result.time = result.until = time;
        result.allocation = allocation;
        result.moves_known = moves_known_;
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
        moves_known_ = (record.kinds >> 3 & 1) != 0;
        all_moves_known_ = all_moves_known_ && moves_known_ && record.lost == 0;
    }
    template <class Record>
    void add(const Record&) {}

    std::uint32_t line_of(const trace::Alloc& record);
    void settle(const timeline::Settled& settled);
    void settle_thread(const timeline::Settled& settled, const Tag& tag);
    void settle_work(const timeline::Settled& settled, const Tag& tag);
    Worst* worst_of(ids::StackId stack);
    void note_worst(const Tag& tag, double begin, double call_length);
    void add_piece(PieceRow& row, Sight::Of of, std::size_t number, const Piece& piece);
    void add_cause(std::size_t thread, double begin, double end, Cause cause, std::uint32_t name);
    void take_closeups();
    void carry(std::uint32_t from, std::uint32_t to, double begin, double end, std::uint64_t bytes);
    void reached(const Tag& tag, double begin, double end);

    void finish_rows();
    void bring_moves_to_account(advice::Report& report);

    const rules::Profile& profile_;
    symbols::Symbolizer& symbolizer_;
    tables::Statistics* statistics_;
    Timeline out_;
    facts::Calls facts_;
    timeline::Clock clock_;
    Placement placement_;
    Blocks blocks_;
    Closeups closeups_;
    std::set<ids::StackId> watched_; ///< stacks
    bool exact_totals_, moves_known_ = false, all_moves_known_ = true, any_managed_ = false;
    std::vector<std::uint64_t> tids_; ///< by reader's index
    double now_ = 0;
    std::priority_queue<PlaceStep, std::vector<PlaceStep>, Later> late_;
    std::deque<Tag> tags_;
    std::map<std::tuple<Cause, Named, std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>,
             Tag*>
        known_;
    reader::FlatMap<std::vector<Tag*>, ids::StackId> recent_; ///< by stack, those of calls
    std::vector<std::vector<Tag*>> shapes_;                   ///< by thread and place in its chunk
    std::map<Named, std::uint32_t> names_;
    std::unordered_map<ids::StackId, ids::StackId> line_stacks_; ///< of allocations
    std::map<std::tuple<ids::StackId, std::uint64_t, std::uint64_t, trace::Memory>, std::uint32_t> lines_;
    reader::FlatMap<std::vector<std::uint32_t>, ids::StackId> recent_lines_; ///< by stack of their allocations
    reader::FlatMap<std::uint32_t, trace::AllocationId> managed_; ///< line of live managed allocations
    reader::FlatMap<std::uint32_t, trace::AllocationId> held_;    ///< of all live ones
    reader::FlatMap<std::uint32_t, trace::AllocationId> devices_; ///< of live ones that are not on the host
    std::set<std::uint32_t> used_;                                ///< devices
    std::vector<double> thread_ends_, stream_ends_;
    FaultTimes fault_times_;
    trace::ManagedCounters totals_;
    double totals_at_ = 0;
    double prefetched_up_ = 0, prefetched_down_ = 0;
    Steps steps_;
};

} // namespace umadvisor::html

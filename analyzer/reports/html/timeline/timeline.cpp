#include "analyzer/reports/html/timeline/timeline.hpp"

#include "analyzer/reader/saturated.hpp"
#include "analyzer/reports/html/timeline/pass.hpp"
#include "analyzer/reports/managed_lines.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace umadvisor::html {

StayPiece stay_piece(double begin, double end, std::uint32_t number, const std::array<float, places>& shares) {
    StayPiece piece{begin, end, number, {}};
    for (std::size_t place = 0; place < places; ++place)
        piece.shares[place] = static_cast<std::uint8_t>(std::lround(shares[place] * 255));
    return piece;
}

void LineRow::extend_part(std::uint32_t number, double begin, double end, std::uint64_t its_bytes) {
    if (number >= parts.size())
        parts.resize(number + 1);
    AllocationPart& part = parts[number];
    if (part.bytes == 0)
        part = {begin, end, its_bytes, number, 0, 0, 0};
    part.end = end;
}

void LineRow::scale_moves(double up, double down) {
    const auto scale = [](std::uint64_t& value, double by) {
        value = reader::saturated(static_cast<double>(value) * by);
    };
    scale(moved_up, up);
    scale(moved_down, down);
    for (AllocationPart& part : parts) {
        scale(part.moved_up, up);
        scale(part.moved_down, down);
    }
    for (MoveMark& move : moves)
        if (move.cause != MoveCause::copy)
            scale(move.bytes, move.up ? up : down);
    const auto scale_bins = [this](MoveCause cause, bool is_up, double by) {
        const std::size_t from = move_bin(cause, is_up) * bins;
        for (std::size_t i = from; i < from + bins; ++i)
            binned_moves[i] *= static_cast<float>(by);
    };
    if (binned_moves.empty())
        return;
    scale_bins(MoveCause::device_fault, true, up);
    scale_bins(MoveCause::prefetch, true, up);
    scale_bins(MoveCause::host_fault, false, down);
    scale_bins(MoveCause::eviction, false, down);
    scale_bins(MoveCause::prefetch, false, down);
}

/// Moves are drawn where they were seen, and scaled to what the report says has moved.
void Pass::bring_moves_to_account(advice::Report& report) {
    for (const reports::ManagedLine& managed : reports::managed_lines(report)) {
        if (managed.basis == managed::MovedBasis::none)
            continue;
        const ids::StackId stack = symbolizer_.line_stack(managed.site.stack);
        for (std::uint32_t number = 0; number < out_.lines.size(); ++number) {
            LineRow& line = out_.lines[number];
            if (line.stack != stack || line.entry != managed.site.entry || line.symbol != managed.site.symbol ||
                line.memory != managed.site.memory)
                continue;
            const auto ratio = [](std::uint64_t moved, std::uint64_t drawn) {
                return drawn == 0 ? 1 : static_cast<double>(moved) / static_cast<double>(drawn);
            };
            const double up = ratio(managed.moved.to_device, line.moved_up),
                         down = ratio(managed.moved.to_host, line.moved_down);
            line.scale_moves(up, down);
            for (auto& [call, detail] : out_.details)
                if (const auto found = detail.lines.find(number); found != detail.lines.end())
                    found->second.scale_moves(up, down);
        }
    }
}

void Pass::take(const reader::ThreadCursor& cursor) {
    if (statistics_ != nullptr)
        statistics_->observe(cursor);
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
        call->note = tag;
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
        add_cause(out_.main, thread_ends_[out_.main], out_.span.end, Cause::code, 0);
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
        for (std::size_t cause = 0; cause < causes; ++cause)
            result[cause] = threads[main]->causes.binned_ns(cause);
    return result;
}

TimelinePass::TimelinePass(const rules::Profile& profile, symbols::Symbolizer& symbolizer,
                           tables::Statistics* statistics)
    : pass_(std::make_unique<Pass>(profile, symbolizer, statistics)) {}
TimelinePass::~TimelinePass() = default;

void TimelinePass::run() {
    pass_->run();
}

Timeline TimelinePass::finish(advice::Report* report) {
    return pass_->finish(report);
}

} // namespace umadvisor::html

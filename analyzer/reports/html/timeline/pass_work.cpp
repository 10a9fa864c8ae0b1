/// When calls and their work were: the rows of threads and streams.
#include "analyzer/reports/html/timeline/pass.hpp"

#include <algorithm>

namespace umadvisor::html {
namespace {

constexpr std::size_t thread_bins = 8192, stream_bins = 8192;
constexpr std::size_t most_calls = 50'000, most_causes = 150'000, most_work = 50'000; ///< in exact order

} // namespace

void Pass::settle(const timeline::Settled& settled) {
    if (settled.call.note == nullptr)
        return;
    const Tag& tag = *static_cast<const Tag*>(settled.call.note);
    settle_thread(settled, tag);
    if (settled.call.queues == facts::Queues::work)
        settle_work(settled, tag);
    if (settled.waited_ns > 0 && settled.call.waits != facts::Waits::itself) {
        // The work that a call waited for was done when it returned.
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
    if (piece.end <= piece.begin)
        return;
    row.add(piece);
    closeups_.add({piece.begin, piece.end, 0, static_cast<std::uint32_t>(number), piece.name, of,
                   static_cast<std::uint8_t>(piece.state)});
}

void Pass::add_cause(std::size_t thread, double begin, double end, Cause cause, std::uint32_t name) {
    ThreadRow& row = *out_.threads[thread];
    row.times.add(cause, name, end - begin);
    add_piece(row.causes, Sight::Of::where, thread, {begin, end, static_cast<std::uint32_t>(cause), name});
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
        thread.reset(new ThreadRow{0,
                                   PieceRow(out_.span, causes, thread_bins, most_causes),
                                   PieceRow(out_.span, 1, thread_bins, most_calls),
                                   0,
                                   {}});
        thread_ends_[call.thread] = call.thread == 0 ? 0 : call.start;
    }
    double at = std::max(call.start, thread_ends_[call.thread]);
    const double end = std::max(at, call.start + call.duration);
    ++thread->call_count;
    const double waited = std::min(end, at + std::max(0.0, settled.waited_ns));
    add_piece(thread->calls, Sight::Of::calls, call.thread, {at, end, 0, tag.name});
    add_cause(call.thread, thread_ends_[call.thread], at, Cause::code, 0);
    add_cause(call.thread, at, waited, Cause::kernels, tag.name);
    add_cause(call.thread, waited, end, tag.cause, tag.name);
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
        stream.reset(new StreamRow{call.stream.legacy, number, facts_.device_of(call.stream),
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

} // namespace umadvisor::html

#include "analyzer/reports/perfetto/perfetto_ranges.hpp"

#include <algorithm>
#include <string>

namespace umadvisor::reports::perfetto {

SliceTrack& RangeTracks::pushed(std::uint64_t domain, std::uint32_t thread, std::uint64_t parent) {
    std::pair key{thread, domain};
    if (!has_room(pushed_, key))
        key = {0, 0};
    std::unique_ptr<SliceTrack>& track = pushed_[key];
    if (!track) {
        const std::string name =
            domain == 0 ? "NVTX" : fmt::format("NVTX {}", run_.trace().dictionary.string(domain));
        track = run_.slices({.name = name, .parent = parent});
    }
    return *track;
}

/// The first track on which no range is open.
SliceTrack& RangeTracks::started(const trace::Range& record) {
    const auto free = std::ranges::find_if(started_, [](const auto& track) { return track->empty(); });
    const auto index = static_cast<std::size_t>(free - started_.begin());
    if (free != started_.end() || started_.size() >= most_tracks) {
        open_[record.id] = std::min(index, started_.size() - 1);
    } else {
        started_.push_back(run_.slices({.name = "NVTX ranges", .parent = run_.process()}));
        open_[record.id] = index;
    }
    return *started_[open_[record.id]];
}

void RangeTracks::add(const trace::Range& record, std::uint32_t thread, std::uint64_t parent) {
    const std::int64_t at = run_.at(record.start);
    std::string name(run_.trace().dictionary.string(record.text));
    if (name.empty())
        name = "(no name)";
    const Event event{.name = name, .category = "nvtx"};
    switch (record.action) {
    case trace::RangeAction::push:
        pushed(record.domain, thread, parent).open(at, event);
        break;
    case trace::RangeAction::pop:
        pushed(record.domain, thread, parent).close(at);
        break;
    case trace::RangeAction::mark:
        pushed(record.domain, thread, parent).instant(at, event);
        break;
    case trace::RangeAction::start:
        if (!open_.contains(record.id))
            started(record).open(at, event);
        break;
    case trace::RangeAction::end:
        if (const auto open = open_.find(record.id); open != open_.end()) {
            started_[open->second]->close(at);
            open_.erase(open);
        }
        break;
    }
}

void RangeTracks::finish(std::int64_t end) {
    for (const auto& [key, track] : pushed_)
        track->finish(end);
    for (const auto& track : started_)
        track->finish(end);
}

} // namespace umadvisor::reports::perfetto

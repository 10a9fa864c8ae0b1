/// What all tracks of one run need.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/perfetto/perfetto_file.hpp"

#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace umadvisor::reports::perfetto {

/// No run has more tracks of one kind; what a damaged one has beyond shares the last.
inline constexpr std::size_t most_tracks = 4096;

class Run {
public:
    /// Of an export's runs, the `number`th; its process and threads get numbers larger by `shift`.
    Run(PacketFile& file, advice::Report& report, std::uint64_t number, std::int64_t shift);

    advice::Report& report() { return report_; }
    const reader::Trace& trace() const { return report_.trace; }
    std::uint64_t process() const { return process_->uuid(); }
    std::int32_t pid() const { return pid_; }
    std::int64_t tid(std::uint32_t thread) const { return std::max<std::int64_t>(1, thread) + shift_; }
    /// Nanoseconds since the run began.
    std::int64_t at(std::uint64_t ticks) const { return trace().time.at(ticks); }

    std::unique_ptr<Track> track(const Description& description) {
        return std::make_unique<Track>(file_, texts_, next_uuid(), began_, description);
    }
    std::unique_ptr<SliceTrack> slices(const Description& description) {
        return std::make_unique<SliceTrack>(file_, texts_, next_uuid(), began_, description);
    }
    const Stack& stack(ids::StackId id);
    /// "main.cu:12 in main()"; "no stack recorded".
    const std::string& line(ids::StackId stack);
    /// A number for a flow that begins at `at`: of one that has ended by then, where there is one. Events that
    /// are alike take little room.
    std::uint64_t begin_flow(std::int64_t at);
    void end_flow(std::uint64_t flow, std::int64_t at) {
        if (ended_flows_.size() < most_flows)
            ended_flows_.emplace(at, flow);
    }

private:
    std::uint64_t next_uuid();
    Stack make_stack(ids::StackId id);

    PacketFile& file_;
    advice::Report& report_;
    std::uint64_t number_, began_;
    std::int64_t shift_;
    std::int32_t pid_;
    Texts texts_;
    static constexpr std::size_t most_flows = std::size_t{1} << 16; ///< whose numbers wait to be given again
    using Ended = std::pair<std::int64_t, std::uint64_t>;           ///< when, and the flow
    std::uint64_t uuids_ = 0, flows_ = 0;
    std::priority_queue<Ended, std::vector<Ended>, std::greater<>> ended_flows_; ///< the first first
    std::unordered_map<ids::StackId, Stack> stacks_;
    std::unordered_map<ids::StackId, std::string> lines_;
    std::unique_ptr<Track> process_;
};

/// Whether a track of that key is there or may be made.
template <class Map, class Key>
bool has_room(const Map& tracks, const Key& key) {
    return tracks.size() < most_tracks || tracks.contains(key);
}

} // namespace umadvisor::reports::perfetto

/// What the page draws over time: one more pass over the trace.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/html/rows.hpp"
#include "analyzer/reports/html/timeline/closeups.hpp"
#include "analyzer/reports/html/timeline/placement.hpp"
#include "analyzer/reports/html/timeline/stack_times.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace umadvisor::html {

/// What a stream does.
enum class Work : std::uint8_t { kernel, stalled, copy };

/// A call or a kernel, and the line that it comes from.
struct Named {
    std::uint64_t entry = 0, function = 0;
    ids::StackId stack{};
    auto operator<=>(const Named&) const = default;
};

struct ThreadRow {
    std::uint64_t tid = 0;
    PieceRow causes, calls;
    std::uint64_t call_count = 0;
    StackTimes times; ///< what `causes` holds, by stack
};

struct StreamRow {
    bool is_default = false;
    std::uint32_t number = 0;
    std::uint64_t device = 0; ///< ordinal
    PieceRow work;
    std::uint64_t kernels = 0, copies = 0;
};

/// Between two processors: 0 is the host, k + 1 device k.
struct Link {
    static constexpr std::uint32_t any_device = UINT32_MAX; ///< the trace does not say which
    std::uint32_t low = 0, high = 0;
    LinkRow up, down; ///< up: from low to high
};

struct MemoryUse {
    double time = 0;
    std::uint64_t allocated = 0, resident = 0;
};

struct MoveMark {
    double time = 0;
    std::uint64_t bytes = 0;
    std::uint32_t number = 0;
    bool up = false;
    MoveCause cause{};
};

struct StayPiece {
    double begin = 0, end = 0;
    std::uint32_t number = 0;                  ///< which of the line's allocations
    std::array<std::uint8_t, places> shares{}; ///< of 255
};
/// `shares` add up to at most one.
StayPiece stay_piece(double begin, double end, std::uint32_t number, const std::array<float, places>& shares);

struct AllocationPart {
    double begin = 0, end = 0;
    std::uint64_t bytes = 0;
    std::uint32_t number = 0;                               ///< which of the line's allocations
    std::uint64_t copied = 0, moved_up = 0, moved_down = 0; ///< bytes
};

/// All allocations of one line of the program.
struct LineRow {
    static constexpr std::size_t bins = 2048, most_stays = 20'000, most_moves = 8'000, most_launches = 8'000;

    ids::StackId stack{};
    std::uint64_t entry = 0, symbol = 0;
    trace::Memory memory{};
    std::uint64_t count = 0, bytes = 0, largest = 0;
    double first = -1;
    std::vector<AllocationPart> parts; ///< the first of them
    std::vector<StayPiece> stays;      ///< empty where there are too many
    std::vector<MoveMark> moves;
    Stretches launches; ///< that reach it
    bool stays_exact = true, moves_exact = true, launches_exact = true;
    std::vector<float> binned_stays; ///< bytes x share of the bin, by place
    /// Bytes, by move_bin().
    std::vector<float> binned_moves;
    std::vector<float> binned_alive;              ///< share of the bin
    std::uint64_t copied_up = 0, copied_down = 0; ///< by copies
    std::uint64_t moved_up = 0, moved_down = 0;   ///< by all else

    /// Allocation (or block) `number` of the row was there until `end`, and first at `begin` where it is new.
    void extend_part(std::uint32_t number, double begin, double end, std::uint64_t its_bytes);

    static constexpr std::size_t move_bins = move_causes + 1;
    /// Moves of one cause and direction: only prefetches go both ways. Copies have one bin for both.
    static std::size_t move_bin(MoveCause cause, bool up) {
        return cause == MoveCause::prefetch && !up ? move_causes : static_cast<std::size_t>(cause);
    }
    /// Multiplies what moved each way, other than by copies.
    void scale_moves(double up, double down);
};

/// The blocks of one allocation, which are the parts of the row.
struct BlockRow {
    std::uint32_t line = 0, number = 0; ///< which of the line's allocations
    std::uint64_t block_bytes = 0;
    bool told = false; ///< each move of it
    LineRow row;
};

struct StepPiece {
    double begin = 0, end = 0;
    std::uint64_t text = 0; ///< string; 0: a round of the loop
    std::uint32_t depth = 0;
};

/// Where something was seen at its worst, and from when to when it was seen at all.
struct Worst {
    double time = 0, length = 0, first = 0, last = 0;
    bool watched = false; ///< there is a closeup of it
};

/// What rows with too many pieces hold around one call.
struct Detail {
    double begin = 0, end = 0; ///< of the call
    double from = 0, until = 0;
    std::map<std::uint32_t, std::vector<Piece>> causes, calls, work; ///< by thread or stream
    std::map<std::uint32_t, std::vector<LinkPiece>> link;            ///< number, twice; down: plus 1
    std::map<std::uint32_t, LineRow> lines;
};

/// Everything, by row. Memory: bounded by the rows, whatever the trace has.
struct Timeline {
    static constexpr std::size_t most_lines = 512, most_streams = 64, most_threads = 64, most_links = 64;

    Span span;
    std::vector<std::unique_ptr<ThreadRow>> threads; ///< by reader's index, those without a call are nullptr
    std::vector<std::unique_ptr<StreamRow>> streams;
    std::vector<Link> links;
    std::uint32_t managed_at = 1; ///< the device that the driver's totals are of, as a processor
    std::vector<MemoryUse> use;
    std::uint64_t peak_allocated = 0, peak_resident = 0;
    std::vector<LineRow> lines;
    std::vector<BlockRow> blocks; ///< where moves were recorded one by one
    std::vector<StepPiece> steps;
    bool named_steps = false;                ///< NVTX; else rounds of a loop
    ids::StackId step_stack{};               ///< of a loop: the launch that each round begins with
    std::vector<Named> names;                ///< name 0 is none
    std::map<std::uint64_t, Cause> cause_of; ///< of the own time of calls, by entry
    std::map<ids::StackId, Worst> calls;     ///< by stack
    std::map<ids::StackId, Detail> details;  ///< likewise, of a few
    bool known_moves = false;                ///< some of the moves were recorded one by one
    std::size_t main = 0;                    ///< of threads: the one that spent most time in calls

    /// Bytes cross a link; returns it, as Detail has it.
    std::uint32_t carry(std::uint32_t from, std::uint32_t to, double begin, double end, double bytes);
    /// Of the main thread, nanoseconds by cause. Start of CUDA is the last.
    std::array<double, causes> where() const;
};

class Pass;

/// Reads the trace once more.
class TimelinePass {
public:
    /// All of them must outlive this. `statistics`, where asked for, are filled too.
    TimelinePass(const rules::Profile& profile, symbols::Symbolizer& symbolizer,
                 tables::Statistics* statistics = nullptr);
    ~TimelinePass();

    /// Takes most of the time, and touches only what is constant: it may run beside the search for findings.
    /// Throws reader::Error.
    void run();
    /// Call once, after that. With a report, what its managed memory moved is what the timeline draws.
    Timeline finish(advice::Report* report = nullptr);

private:
    std::unique_ptr<Pass> pass_;
};

} // namespace umadvisor::html

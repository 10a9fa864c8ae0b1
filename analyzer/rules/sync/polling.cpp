/// Streams and events that are asked again and again whether they are done.
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <string>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_in_vain = 1000;
constexpr std::uint64_t least_in_vain_share = 10; ///< queries in vain for each that found work done
constexpr std::uint64_t not_ready = 600;          ///< CUDA_ERROR_NOT_READY

struct PollTally {
    std::uint64_t all = 0, count = 0; ///< queries, and those in vain
    std::uint64_t ticks = 0;          ///< of those in vain
    std::uint64_t between_ticks = 0;  ///< from one in vain to the next query of the same object

    PollTally& operator+=(const PollTally& other) {
        all += other.all;
        count += other.count;
        ticks += other.ticks;
        between_ticks += other.between_ticks;
        return *this;
    }
};

class Polling : public LineRule<Polling, PollTally> {
public:
    void add(const trace::Sync& record, std::uint32_t thread) {
        if (record.kind != trace::SyncKind::stream_query && record.kind != trace::SyncKind::event_query)
            return;
        PollTally& tally = at(ids::CallSite::of(record));
        Last& last = last_[thread];
        ++tally.all;
        if (last.in_vain && last.object == record.object)
            tally.between_ticks += record.start - std::min(record.start, last.end);
        last = {record.object, record.start + record.duration, record.status == not_ready};
        if (last.in_vain) {
            ++tally.count;
            tally.ticks += record.duration;
        }
    }

    std::optional<Finding> judge(const Line<PollTally>& line) const {
        const std::uint64_t in_vain = line.tally.count;
        const double in_vain_ns = line.ns(line.tally.ticks), between_ns = line.ns(line.tally.between_ticks);
        // Where the host does nothing but ask, nothing is done sooner without the queries.
        const bool held_up = between_ns > in_vain_ns;
        if (in_vain < least_in_vain || !held_up || in_vain_ns < least_saving_ns ||
            in_vain < least_in_vain_share * (line.tally.all - in_vain))
            return std::nullopt;
        return Finding{
            .summary = fmt::format("{} {} of {} times before the device had finished: {} a call, {} in all",
                                   line.profile.call_name(line.entry), in_vain, line.tally.all,
                                   time_text(in_vain_ns / static_cast<double>(in_vain)), time_text(in_vain_ns)),
            .evidence = {{"queries", static_cast<double>(line.tally.all)},
                         {"not_ready", static_cast<double>(in_vain)},
                         {"time_ns", in_vain_ns},
                         {"between_ns", between_ns}},
            .advice = line.profile.uses_runtime()
                          ? "query rarely, or wait instead: create the event with cudaEventBlockingSync, call "
                            "cudaEventRecord(event, stream) after the work, and cudaEventSynchronize(event) "
                            "where the result is needed; or cudaLaunchHostFunc for host work that follows"
                          : "query rarely, or wait instead: create the event with CU_EVENT_BLOCKING_SYNC, call "
                            "cuEventRecord(event, stream) after the work, and cuEventSynchronize(event) where "
                            "the result is needed; or cuLaunchHostFunc for host work that follows",
            .saving_ns = in_vain_ns,
            .edit = line.calls.gone(line.profile),
            .basis =
                "replay of the run without the unsuccessful queries, which the host made between its own work",
            .confidence = Confidence::medium};
    }

private:
    /// The last query of a thread.
    struct Last {
        std::uint64_t object = 0, end = 0;
        bool in_vain = false;
    };
    facts::PerThread<Last> last_;
};

} // namespace

constinit const Rule uma_504{.id = "UMA-504",
                             .name = "polling",
                             .title = "streams or events polled in a loop",
                             .find = &Polling::find<uma_504>,
                             .counter = &count<Polling>,
                             .order = OrderUse::none};

} // namespace umadvisor::rules

/// Stream-ordered memory that its pool gives back to the system at every synchronisation, and maps anew for the
/// next allocation, as pools do whose release threshold is zero: the default.
#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/call.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/words.hpp"
#include "trace/memory_records.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace umadvisor::rules {
namespace {

struct PoolTrimTotals {
    std::uint64_t allocations = 0;                          ///< all that are ordered in streams
    std::uint64_t anew = 0, anew_bytes = 0, anew_ticks = 0; ///< of these, after the pool gave back as much
    std::uint64_t returns = 0;    ///< synchronisations at which the pool gave back memory of this site
    std::uint64_t free_waits = 0; ///< of these, those with nothing to wait for
    double free_wait_ns = 0;      ///< that those took
    double trim_ticks = 0;        ///< in calls by which the program trims pools
    std::uint64_t trims = 0;
    ids::StackId last_stack{}; ///< of the call that gave memory back last
};

/// A pool whose release threshold is zero, as it is at first, gives what is free back at the next
/// synchronisation. One whose threshold was raised does so only where the program trims it. Pools that are the
/// default or current one of a device count as one. Memory: one entry a site, a live allocation and a pool.
class PoolTrims : public Counter {
public:
    explicit PoolTrims(const Begin& begin) : dictionary_(begin.dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Pool& record);
    void add(const WorkCall& work);

    const std::map<ids::CallSite, PoolTrimTotals>& sites() const { return sites_.map(); }

private:
    struct Pool {
        bool keeps = false;         ///< its release threshold is not zero
        std::uint64_t returned = 0; ///< bytes that went back to the system and have not come again
        std::map<ids::CallSite, std::uint64_t>
            freed;                    ///< bytes since the last synchronisation, by allocating site
        std::uint64_t free_bytes = 0; ///< all of `freed`

        /// Hands out what was freed since the last synchronisation. False: it is not as much.
        bool take(std::uint64_t bytes);
    };
    struct Live {
        ids::CallSite site;
        std::uint64_t bytes = 0, pool = 0;
    };

    std::uint64_t known(std::uint64_t pool) const { return usual_.contains(pool) ? 0 : pool; }
    template <class Share>
    void give_back(Pool& pool, ids::StackId stack, const Share& share);

    const reader::Dictionary& dictionary_;
    facts::CachedMap<std::map<ids::CallSite, PoolTrimTotals>> sites_;
    std::map<std::uint64_t, Pool> pools_; ///< 0: those of `usual_`, and what names none
    std::set<std::uint64_t> usual_;       ///< handles of default and current pools
    std::set<std::uint32_t> busy_; ///< streams with work since the first pool for which no call has waited
    bool busy_before_ = false;     ///< work from before it may still run
    reader::FlatMap<Live, trace::AllocationId> live_;
};

constexpr std::uint64_t release_threshold_attribute = 4; ///< CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

bool PoolTrims::Pool::take(std::uint64_t bytes) {
    if (free_bytes < bytes)
        return false;
    free_bytes -= bytes;
    while (bytes != 0) {
        const auto first = freed.begin();
        const std::uint64_t taken = std::min(bytes, first->second);
        bytes -= taken;
        if ((first->second -= taken) == 0)
            freed.erase(first);
    }
    return true;
}

void PoolTrims::add(const trace::Alloc& record) {
    if (record.status != 0 || record.part != 0 || !trace::known(record.allocation) ||
        record.origin != trace::Origin::program || !dictionary_.is_stream_ordered(record.entry))
        return;
    const ids::CallSite site = ids::CallSite::of(record);
    PoolTrimTotals& totals = sites_[site];
    const std::uint64_t name = known(record.pool);
    Pool& pool = pools_[name];
    ++totals.allocations;
    if (!pool.take(record.bytes) && pool.returned >= record.bytes) {
        pool.returned -= record.bytes;
        ++totals.anew;
        totals.anew_bytes += record.bytes;
        totals.anew_ticks += record.duration;
    }
    live_[record.allocation] = {site, record.bytes, name};
}

void PoolTrims::add(const trace::Free& record) {
    const Live* const live = live_.find(record.allocation);
    if (record.status != 0 || live == nullptr)
        return;
    if (record.part == 0 && live->bytes != 0) {
        Pool& pool = pools_[live->pool];
        pool.freed[live->site] += live->bytes;
        pool.free_bytes += live->bytes;
    }
    live_.erase(record.allocation);
}

/// Calls `share` for each site that allocated what goes back, with the site's part of those bytes.
template <class Share>
void PoolTrims::give_back(Pool& pool, ids::StackId stack, const Share& share) {
    for (const auto& [site, bytes] : pool.freed) {
        PoolTrimTotals& totals = sites_[site];
        totals.last_stack = stack;
        share(totals, static_cast<double>(bytes) / static_cast<double>(pool.free_bytes));
    }
    pool.returned += std::exchange(pool.free_bytes, 0);
    pool.freed.clear();
}

void PoolTrims::add(const trace::Pool& record) {
    if (record.status != 0)
        return;
    if (record.action == trace::PoolAction::get || record.action == trace::PoolAction::set) {
        if (const auto own = pools_.find(record.pool); own != pools_.end() && record.pool != 0)
            pools_[0].keeps |= own->second.keeps;
        usual_.insert(record.pool);
        return;
    }
    Pool& pool = pools_[known(record.pool)];
    if (record.action == trace::PoolAction::set_attribute && record.attribute == release_threshold_attribute)
        pool.keeps |= record.value != 0;
    else if (record.action == trace::PoolAction::trim)
        give_back(pool, ids::StackId::of(record), [&record](PoolTrimTotals& totals, double part) {
            ++totals.trims;
            totals.trim_ticks += part * static_cast<double>(record.duration);
        });
}

void PoolTrims::add(const WorkCall& work) {
    const facts::Call& call = work.call;
    // Programs without pools are many, and launches are: which streams are busy matters from the first pool on.
    if (call.waits == facts::Waits::device)
        busy_before_ = false;
    else if (pools_.empty() && call.queues == facts::Queues::work)
        busy_before_ = true;
    if (pools_.empty())
        return;
    const bool alone = busy_before_ ? false
                       : call.waits == facts::Waits::stream && !call.stream.legacy
                           ? !busy_.contains(call.stream.number)
                       : call.waits == facts::Waits::event ? false
                                                           : busy_.empty();
    const bool is_sync = std::holds_alternative<trace::Sync>(work.cursor.event());
    if (is_sync && call.waits != facts::Waits::nothing)
        for (auto& [name, pool] : pools_)
            if (!pool.keeps && !pool.freed.empty())
                give_back(pool, call.site.stack, [&](PoolTrimTotals& totals, double part) {
                    ++totals.returns;
                    if (alone) {
                        ++totals.free_waits;
                        totals.free_wait_ns += part * call.duration;
                    }
                });
    if (call.waits == facts::Waits::device)
        busy_.clear();
    else if (call.waits == facts::Waits::stream || call.waits == facts::Waits::itself)
        busy_.erase(call.stream.number);
    else if (call.queues == facts::Queues::work || call.queues == facts::Queues::join)
        busy_.insert(call.stream.number);
}

/// An allocation that its pool can serve takes about as long as a launch. One that took so many times as long
/// had memory mapped.
constexpr double times_a_launch = 4;
constexpr std::uint64_t least_mapped = 3;
/// The pool serves most allocations of some lines from what it has kept. Such a line is no finding: less than
/// this share of its allocations had memory mapped anew.
constexpr double least_mapped_share = 0.5;
constexpr std::size_t most_pool_places = 4;

struct PoolLine {
    std::uint64_t allocations = 0, anew = 0, anew_bytes = 0, entry = 0, returns = 0, free_waits = 0, trims = 0;
    ids::StackId returned_at;
    double anew_ns = 0, free_wait_ns = 0, trim_ns = 0;
    EditedCalls calls;

    void add(const PoolLine& other) {
        allocations += other.allocations;
        anew += other.anew;
        anew_bytes += other.anew_bytes;
        // One call gives memory of several lines back.
        returns = std::max(returns, other.returns);
        free_waits = std::max(free_waits, other.free_waits);
        trims = std::max(trims, other.trims);
        anew_ns += other.anew_ns;
        free_wait_ns += other.free_wait_ns;
        trim_ns += other.trim_ns;
        calls.add(other.calls);
    }
    double mean_ns() const { return anew == 0 ? 0 : anew_ns / static_cast<double>(anew); }
};

/// The time of mapping, and of those synchronisations that had nothing else to do. The other synchronisations'
/// share of it cannot be separated from their wait for the device.
double pool_saving_ns(const PoolLine& line, double served_ns) {
    return line.anew_ns - static_cast<double>(line.anew) * served_ns +
           std::max(0.0, line.free_wait_ns - static_cast<double>(line.free_waits) * served_ns) + line.trim_ns;
}

std::string pool_advice(const Profile& profile, const PoolLine& line) {
    if (line.trims > line.returns)
        return profile.uses_runtime() ? "trim the pool after the rounds, not in each (cudaMemPoolTrimTo)"
                                      : "trim the pool after the rounds, not in each (cuMemPoolTrimTo)";
    const bool runtime = profile.uses_runtime();
    const bool own_pool = profile.call_name(line.entry).find("FromPool") != std::string::npos;
    return fmt::format("let the pool keep its free memory: {} keep = UINT64_MAX; {} once{}",
                       runtime ? "uint64_t" : "cuuint64_t",
                       runtime ? "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep)"
                               : "cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep)",
                       own_pool  ? ", for the pool that the call names"
                       : runtime ? ", after cudaDeviceGetDefaultMemPool(&pool, device)"
                                 : ", after cuDeviceGetDefaultMemPool(&pool, device)");
}

Finding describe_pool(const Profile& profile, ids::StackId stack, const PoolLine& line) {
    const auto anew = static_cast<double>(line.anew);
    Finding finding;
    finding.rule = &uma_414;
    finding.title = finding.rule->title;
    finding.stack = stack;
    finding.summary = fmt::format(
        "{} of {} on average, {} times after the pool had released as much memory: {} each, {} in all",
        profile.call_name(line.entry), bytes_text(static_cast<double>(line.anew_bytes) / anew), line.anew,
        time_text(line.mean_ns()), time_text(line.anew_ns));
    finding.evidence = {{"allocations", static_cast<double>(line.allocations)},
                        {"mapped_anew", anew},
                        {"mapped_anew_bytes", static_cast<double>(line.anew_bytes)},
                        {"mapped_anew_time_ns", line.anew_ns},
                        {"synchronisations", static_cast<double>(line.returns)},
                        {"idle_synchronisations", static_cast<double>(line.free_waits)},
                        {"idle_synchronisation_time_ns", line.free_wait_ns},
                        {"trims", static_cast<double>(line.trims)},
                        {"trim_time_ns", line.trim_ns}};
    if (line.free_waits != 0)
        finding.details.push_back(
            fmt::format("{} synchronisations with nothing to wait for took {}: they released the memory",
                        line.free_waits, time_text(line.free_wait_ns)));
    else if (line.returns != 0)
        finding.details.push_back("the time of releasing the memory is hidden in the synchronisations' wait "
                                  "for the device and not part of the saving");
    if (line.returned_at.known())
        finding.places.emplace_back("given back here", line.returned_at);
    finding.advice = pool_advice(profile, line);
    finding.saving_ns = pool_saving_ns(line, profile.rates().launch_call_ns);
    finding.edit = line.calls.shorter(profile, finding.saving_ns);
    finding.basis = "time of these allocations and of releasing the memory, minus the time of allocations that "
                    "the pool can serve";
    finding.confidence = Confidence::medium; // no call shows what a pool keeps
    return finding;
}

} // namespace

std::vector<Finding> find_pool_trims(const Profile& profile, const LineOf& line_of) {
    std::map<ids::StackId, PoolLine> lines;
    for (const auto& [site, totals] : profile.counted<PoolTrims>().sites()) {
        PoolLine& line = lines[line_of(site.stack)];
        line.allocations += totals.allocations;
        line.anew += totals.anew;
        line.anew_bytes += totals.anew_bytes;
        line.entry = site.entry;
        line.returns += totals.returns;
        line.free_waits += totals.free_waits;
        line.trims += totals.trims;
        line.returned_at = totals.last_stack;
        line.anew_ns += static_cast<double>(profile.nanoseconds(totals.anew_ticks));
        line.free_wait_ns += totals.free_wait_ns;
        line.trim_ns += static_cast<double>(profile.estimated_nanoseconds(totals.trim_ticks));
        line.calls.add(site, totals.anew, totals.allocations);
    }
    // The threshold is the pool's: one finding, at the line that costs most, speaks for all lines.
    const double served_ns = profile.rates().launch_call_ns;
    std::erase_if(lines, [served_ns](const auto& entry) {
        const PoolLine& line = entry.second;
        return line.anew < least_mapped || line.mean_ns() < times_a_launch * served_ns ||
               static_cast<double>(line.anew) < least_mapped_share * static_cast<double>(line.allocations);
    });
    const auto most = std::ranges::max_element(
        lines, {}, [served_ns](const auto& entry) { return pool_saving_ns(entry.second, served_ns); });
    if (most == lines.end())
        return {};
    PoolLine all = most->second;
    for (const auto& [stack, line] : lines)
        if (stack != most->first)
            all.add(line);
    if (pool_saving_ns(all, served_ns) < least_saving_ns)
        return {};
    Finding finding = describe_pool(profile, most->first, all);
    for (const auto& [stack, line] : lines)
        if (stack != most->first && finding.places.size() < most_pool_places)
            finding.places.emplace_back("allocated here, too", stack);
    return {std::move(finding)};
}

constinit const Rule uma_414{.id = "UMA-414",
                             .name = "pool-trim",
                             .title = "a memory pool releases its memory in each round",
                             .find = &find_pool_trims,
                             .counter = &count<PoolTrims>};

} // namespace umadvisor::rules

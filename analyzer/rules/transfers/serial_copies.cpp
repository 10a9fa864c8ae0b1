/// Copies and kernels one after the other that could run side by side.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/transfers/detours.hpp"
#include "analyzer/rules/transfers/engine_times.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace umadvisor::rules {
namespace {

/// An overlap of less than this part of the time is not worth several streams.
constexpr double least_overlapped = 0.15;
constexpr std::size_t usual_chunks = 4;
/// Another number of chunks is chosen only if its time is below this part of the usual number's.
constexpr double clearly_better = 0.9;

/// Copies in, kernels on what they brought, and copies out of what those made.
struct Chain {
    std::size_t first = 0, last = 0; ///< in the pattern, `last` behind the end
    double up_bytes = 0, down_bytes = 0;
    std::size_t uploads = 0;
};

class ChainReader {
public:
    explicit ChainReader(const WorkPattern& pattern) : work_(pattern.work) {}

    /// Of a pattern on one stream. Empty: something in it has no part in a chain.
    std::vector<Chain> read() {
        while (at_ < work_.size() && work_[at_].action->engine != Engine::to_device)
            ++at_; // from before
        while (at_ < work_.size())
            if (!read_chain())
                return {};
        return chains_;
    }

private:
    bool read_chain() {
        Chain chain{.first = at_};
        std::set<std::uint32_t> reached;
        for (; is(Engine::to_device); ++at_) {
            ++chain.uploads;
            chain.up_bytes += static_cast<double>(work_[at_].action->bytes);
            reached.insert(work_[at_].reaches.begin(), work_[at_].reaches.end());
        }
        const std::size_t kernels = at_;
        for (; is(Engine::compute); ++at_) {
            if (!touches(reached))
                return false;
            reached.insert(work_[at_].reaches.begin(), work_[at_].reaches.end());
        }
        if (at_ == kernels || at_ == work_.size())
            return false;
        for (; is(Engine::to_host); ++at_) {
            if (!touches(reached))
                return false;
            chain.down_bytes += static_cast<double>(work_[at_].action->bytes);
        }
        chain.last = at_;
        if (chain.up_bytes == 0 || chain.down_bytes == 0)
            return false;
        chains_.push_back(chain);
        return true;
    }

    bool is(Engine engine) const { return at_ < work_.size() && work_[at_].action->engine == engine; }
    bool touches(const std::set<std::uint32_t>& reached) const {
        return std::ranges::any_of(work_[at_].reaches,
                                   [&](std::uint32_t allocation) { return reached.contains(allocation); });
    }

    const std::vector<Work>& work_;
    std::size_t at_ = 0;
    std::vector<Chain> chains_;
};

/// What several streams would make of the chains of a pattern.
struct Plan {
    std::size_t streams = 0;
    double serial_ns = 0, per_stream_ns = 0, phases_ns = 0;
    double best_ns() const { return std::min(per_stream_ns, phases_ns); }
};

/// `streams` parts of a chain, or the chains that are there, each in a stream of its own.
class Planner {
public:
    Planner(const WorkPattern& pattern, const std::vector<double>& ns, const std::vector<Chain>& chains,
            const Machine& machine)
        : pattern_(pattern), ns_(ns), chains_(chains), machine_(machine) {}

    Plan best() const {
        if (chains_.size() > 1)
            return plan(1);
        Plan best = plan(usual_chunks);
        for (const std::size_t chunks : {2, 8, 16})
            if (const Plan other = plan(chunks); other.best_ns() < clearly_better * best.best_ns())
                best = other;
        return best;
    }

private:
    using Operations = std::vector<Operation>;

    /// Each chain in `chunks` parts.
    Plan plan(std::size_t chunks) const {
        const std::size_t streams = chains_.size() * chunks;
        return {.streams = streams,
                .serial_ns = makespan(in_order(1, true), machine_),
                .per_stream_ns = makespan(in_order(chunks, false), machine_),
                .phases_ns = makespan(in_phases(chunks), machine_)};
    }

    void add(Operations& to, std::size_t work, std::size_t chunks, std::size_t stream) const {
        const double fixed = std::min(fixed_ns, ns_[work]);
        to.push_back({.engine = pattern_.work[work].action->engine,
                      .stream = static_cast<std::uint32_t>(stream),
                      .ns = fixed + (ns_[work] - fixed) / static_cast<double>(chunks)});
    }

    Operations in_order(std::size_t chunks, bool one_stream) const {
        Operations operations;
        for (std::size_t part = 0; part < chains_.size() * chunks; ++part)
            for (std::size_t work = chain(part, chunks).first; work < chain(part, chunks).last; ++work)
                add(operations, work, chunks, one_stream ? 0 : part);
        return operations;
    }

    Operations in_phases(std::size_t chunks) const {
        Operations operations;
        for (const Engine engine : {Engine::to_device, Engine::compute, Engine::to_host})
            for (std::size_t part = 0; part < chains_.size() * chunks; ++part)
                for (std::size_t work = chain(part, chunks).first; work < chain(part, chunks).last; ++work)
                    if (pattern_.work[work].action->engine == engine)
                        add(operations, work, chunks, part);
        return operations;
    }

    const Chain& chain(std::size_t part, std::size_t chunks) const { return chains_[part / chunks]; }

    const WorkPattern& pattern_;
    const std::vector<double>& ns_;
    const std::vector<Chain>& chains_;
    const Machine& machine_;
};

/// All patterns whose first copy is made at one line.
struct SerialLine {
    double saving_ns = 0, serial_ns = 0, per_stream_ns = 0, phases_ns = 0, up_bytes = 0, down_bytes = 0;
    std::uint64_t times = 0, chains = 0;
    bool pageable = false, divisible = true; ///< divisible: by all that is seen
    EditedCalls copies;
    // Of the pattern that saves most:
    double most_ns = 0;
    Plan plan;
    std::size_t chains_each = 0;
    std::uint64_t entry = 0;
    ids::StackId kernel_stack, down_stack;
    std::set<std::uint64_t> kernels;
};

/// If kernels on several buffers take more than this many times as long as the memory needs for the data, each
/// result may need all of the data, as in a product of matrices.
constexpr double most_passes = 8;

/// Whether part of the kernels' work may need only part of the data: about as many bytes go in as come out, and
/// they are of one buffer, or of several that the kernels go over a few times at most.
bool is_divisible(const Profile& profile, const WorkPattern& pattern, const Chain& chain,
                  const std::vector<double>& ns) {
    if (chain.down_bytes * 4 < chain.up_bytes || chain.up_bytes * 4 < chain.down_bytes)
        return false;
    if (chain.uploads == 1)
        return true;
    double kernels_ns = 0;
    for (std::size_t i = chain.first; i < chain.last; ++i)
        if (pattern.work[i].action->engine == Engine::compute)
            kernels_ns += ns[i];
    return kernels_ns <=
           most_passes * (chain.up_bytes + chain.down_bytes) / profile.rates().device_memory * 1e9;
}

void add(SerialLine& line, const WorkPattern& pattern, const std::vector<Chain>& chains, const Plan& plan) {
    const auto times = static_cast<double>(pattern.times);
    const double saving_ns = times * (plan.serial_ns - plan.best_ns());
    line.saving_ns += saving_ns;
    line.serial_ns += times * plan.serial_ns;
    line.per_stream_ns += times * plan.per_stream_ns;
    line.phases_ns += times * plan.phases_ns;
    line.times += pattern.times;
    line.chains += pattern.times * chains.size();
    for (const Chain& chain : chains) {
        line.up_bytes += times * chain.up_bytes;
        line.down_bytes += times * chain.down_bytes;
        for (std::size_t i = chain.first; i < chain.last; ++i)
            if (const WorkAction& action = *pattern.work[i].action; action.engine != Engine::compute)
                line.copies.add({action.stack, action.entry}, pattern.times);
    }
    for (std::size_t i = chains.front().first; i < chains.front().last; ++i)
        if (pattern.work[i].action->is_kernel())
            line.kernels.insert(pattern.work[i].action->kernel->first.function);
    if (saving_ns <= line.most_ns)
        return;
    line.most_ns = saving_ns;
    line.plan = plan;
    line.chains_each = chains.size();
    line.entry = pattern.work[chains.front().first].action->entry;
    line.down_stack = pattern.work[chains.front().last - 1].action->stack;
    line.kernel_stack = {};
    for (std::size_t i = chains.front().first; i < chains.front().last && !line.kernel_stack.known(); ++i)
        if (pattern.work[i].action->is_kernel())
            line.kernel_stack = pattern.work[i].action->stack;
}

std::string advice_of(const Profile& profile, const SerialLine& line) {
    const bool runtime = profile.uses_runtime();
    const std::string first = line.pageable ? fmt::format("first page-lock the host buffers ({}), or copy "
                                                          "through page-locked staging buffers that are kept, "
                                                          "one for each stream and direction: copies of "
                                                          "pageable memory do not overlap; then, where the "
                                                          "parts have no streams of their own yet, ",
                                                          runtime ? "cudaHostRegister" : "cuMemHostRegister")
                                            : "";
    const std::string streams =
        line.chains_each > 1
            ? fmt::format("use a separate stream for each of the {} parts", line.chains_each)
            : fmt::format("split the data into {} chunks and use a stream for each", line.plan.streams);
    return fmt::format(
        "{0}{1}: for each i: {2}(in, stream[i]), kernel<<<..., stream[i]>>>, {2}(out, stream[i]): {3}; or all "
        "copies in, then all kernels, then all copies out: {4}; wait for all of them before the data is used",
        first, streams, runtime ? "cudaMemcpyAsync" : "cuMemcpyAsync", time_text(line.plan.per_stream_ns),
        time_text(line.plan.phases_ns));
}

Finding describe_serial(const Profile& profile, ids::StackId, const SerialLine& line) {
    Finding finding;
    finding.summary = fmt::format("{}, {} and the copy back wait for one another, {}: {} each{}; overlapped {}",
                                  profile.call_name(line.entry), kernels_text(profile, line.kernels),
                                  count_text(line.times, "time"), time_text(line.plan.serial_ns),
                                  line.pageable ? " with pinned memory" : "", time_text(line.plan.best_ns()));
    finding.evidence = {{"rounds", static_cast<double>(line.times)},
                        {"chains", static_cast<double>(line.chains)},
                        {"bytes_to_device", line.up_bytes},
                        {"bytes_to_host", line.down_bytes},
                        {"streams", static_cast<double>(line.plan.streams)},
                        {"serial_ns", line.serial_ns},
                        {"per_stream_ns", line.per_stream_ns},
                        {"phase_wise_ns", line.phases_ns}};
    finding.places = {{"kernel", line.kernel_stack}, {"copied back", line.down_stack}};
    finding.advice = advice_of(profile, line);
    if (line.pageable)
        finding.details.emplace_back("neither what pinned memory itself saves nor what page-locking costs is "
                                     "counted here (UMA-101 and UMA-102 "
                                     "report where it pays)");
    finding.saving_ns = line.saving_ns;
    // What the kernels hide of the copies is as if these were faster.
    finding.edit = line.copies.faster(profile, static_cast<std::uint64_t>(line.up_bytes + line.down_bytes),
                                      line.saving_ns);
    finding.basis = "times of these copies and kernels on the device, in series minus overlapped; at most the "
                    "gain that a replay of the run shows";
    finding.confidence = line.divisible ? Confidence::medium : Confidence::low;
    return finding;
}

/// The rule through-host advises to do without some of these copies.
bool goes_through_host(const Profile& profile, const WorkPattern& pattern) {
    return std::ranges::any_of(pattern.work, [&](const Work& work) {
        return profile.counted<ThroughHost>().tells_of({work.action->stack, work.action->entry});
    });
}

/// Uploads that other rules advise to do without, by their calls.
class NeedlessUploads {
public:
    explicit NeedlessUploads(const Profile& profile) {
        if (!fates_are_known(profile))
            return;
        for (const auto& [site, totals] : profile.counted<DeviceContents>().sites()) {
            calls_[site.copy].needless += totals.reported(site.fate).count;
            // Leaving a finding out takes less evidence than reporting it.
            calls_[site.copy].returned +=
                site.fate == Fate::returned ? totals.seen.count + totals.in_part.count : 0;
        }
        for (const auto& [site, totals] : profile.copies().sites())
            if (const auto call = calls_.find(site); call != calls_.end())
                call->second.copies += totals.small.count + totals.large.count;
    }

    /// The result of a round goes into the next by way of the host.
    bool feeds_next_round(const WorkPattern& pattern) const {
        return std::ranges::any_of(pattern.work, [&](const Work& work) {
            const Call* const call = find(work);
            return call != nullptr && 2 * call->returned > call->copies;
        });
    }
    /// Most copies of this call.
    bool has(const Work& work) const {
        const Call* const call = find(work);
        return call != nullptr && 2 * call->needless > call->copies;
    }

private:
    struct Call {
        std::uint64_t needless = 0, returned = 0, copies = 0;
    };
    const Call* find(const Work& work) const {
        if (work.action->engine != Engine::to_device)
            return nullptr;
        const auto call = calls_.find({work.action->stack, work.action->entry});
        return call == calls_.end() ? nullptr : &call->second;
    }
    std::map<ids::CallSite, Call> calls_;
};

} // namespace

std::vector<Finding> find_serial_copies(const Profile& profile, const LineOf& line_of) {
    if (work_is_unknown(profile))
        return {};
    const Machine machine = machine_of(profile);
    const NeedlessUploads needless(profile);
    std::map<ids::StackId, SerialLine> lines;
    for (const WorkPattern& pattern : profile.counted<WorkPatterns>().patterns()) {
        if (goes_through_host(profile, pattern) || needless.feeds_next_round(pattern))
            continue;
        const std::vector<Chain> chains = ChainReader(pattern).read();
        if (chains.empty())
            continue;
        EngineTimes times = engine_times(profile, pattern);
        if (times.ns.empty())
            continue;
        for (std::size_t i = 0; i < times.ns.size(); ++i)
            if (needless.has(pattern.work[i]))
                times.ns[i] = 0;
        const Plan plan = Planner(pattern, times.ns, chains, machine).best();
        if (plan.best_ns() > (1 - least_overlapped) * plan.serial_ns)
            continue;
        SerialLine& line = lines[line_of(pattern.work[chains.front().first].action->stack)];
        add(line, pattern, chains, plan);
        line.pageable |= times.pageable;
        // Chains that are there already are parts.
        line.divisible &= chains.size() > 1 || is_divisible(profile, pattern, chains.front(), times.ns);
    }
    return judge_lines(uma_109, profile, lines, describe_serial);
}

constinit const Rule uma_109{.id = "UMA-109",
                             .name = "serial-copies",
                             .title = "copies and kernels in series that could overlap",
                             .find = &find_serial_copies,
                             .counter = &count<WorkPatterns>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules

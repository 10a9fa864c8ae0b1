/// Work on the legacy default stream, which waits for all blocking streams and lets all of them wait.
#include "analyzer/findings/engine_times.hpp"
#include "analyzer/findings/finding.hpp"
#include "analyzer/findings/untold_work.hpp"
#include "analyzer/findings/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::findings {
namespace {

using model::QueueKind;

/// Less than this part of the time may be what the schedule does not know.
constexpr double least_freed = 0.15;

/// All patterns whose first work on the default stream is given at one line.
struct DefaultLine {
    std::uint64_t times = 0, works = 0, most_queues = 0, other_stack = 0;
    double recorded_ns = 0, free_ns = 0;
    bool kernel = false; ///< on the default stream
};

bool share_memory(const model::Work& a, const model::Work& b) {
    return std::ranges::any_of(a.reaches, [&](std::uint32_t allocation) {
        return std::ranges::find(b.reaches, allocation) != b.reaches.end();
    });
}

/// As the device runs a pattern, with what the default stream orders or, `freed`, only with what reaches the
/// same memory in the order it has.
std::vector<model::Operation> operations_of(const model::WorkPattern& pattern, const std::vector<double>& ns,
                                            bool freed) {
    const auto legacy_order = [&](const model::Work& a, const model::Work& b) {
        const QueueKind first = pattern.queues[a.queue], second = pattern.queues[b.queue];
        return (first == QueueKind::legacy && second == QueueKind::blocking) ||
               (first == QueueKind::blocking && second == QueueKind::legacy);
    };
    std::vector<model::Operation> operations;
    for (std::size_t i = 0; i < pattern.work.size(); ++i) {
        const model::Work& work = pattern.work[i];
        model::Operation operation{
            .engine = work.action->engine, .stream = work.queue, .ns = ns[i], .after = work.after};
        for (std::size_t before = 0; before < i; ++before)
            if (legacy_order(pattern.work[before], work) &&
                (!freed || share_memory(pattern.work[before], work)))
                operation.after.push_back(static_cast<std::uint32_t>(before));
        operations.push_back(std::move(operation));
    }
    return operations;
}

bool is_candidate(const model::WorkPattern& pattern) {
    const auto has = [&](QueueKind kind) {
        return std::ranges::find(pattern.queues, kind) != pattern.queues.end();
    };
    // What the host waits for is ordered by that already.
    return has(QueueKind::legacy) && has(QueueKind::blocking) &&
           std::ranges::all_of(pattern.work, [](const model::Work& work) {
               return work.action->is_kernel() || work.action->asynchronous ||
                      work.action->source == trace::Memory::unknown; // a set
           });
}

void add(DefaultLine& line, const model::WorkPattern& pattern, double recorded_ns, double free_ns) {
    const auto times = static_cast<double>(pattern.times);
    line.times += pattern.times;
    line.recorded_ns += times * recorded_ns;
    line.free_ns += times * free_ns;
    line.most_queues = std::max<std::uint64_t>(line.most_queues, pattern.queues.size() - 1);
    for (const model::Work& work : pattern.work) {
        const bool legacy = pattern.queues[work.queue] == QueueKind::legacy;
        line.works += legacy ? pattern.times : 0;
        line.kernel |= legacy && work.action->is_kernel();
        if (!legacy && line.other_stack == 0)
            line.other_stack = work.action->stack;
    }
}

Finding describe_default(const model::Profile& profile, std::uint64_t stack, const DefaultLine& line) {
    Finding finding;
    finding.rule = &rule("UMA-110");
    finding.title = finding.rule->title;
    finding.stack = stack;
    finding.summary = count_text(line.works, line.kernel ? "operation" : "copy") +
                      " on the default stream, which waits for " + count_text(line.most_queues, "stream") +
                      " and lets them wait: " + time_text(line.recorded_ns) + " for what takes " +
                      time_text(line.free_ns) + " side by side";
    finding.evidence = {{"rounds", static_cast<double>(line.times)},
                        {"default_stream_operations", static_cast<double>(line.works)},
                        {"streams", static_cast<double>(line.most_queues)},
                        {"recorded_ns", line.recorded_ns},
                        {"side_by_side_ns", line.free_ns}};
    finding.places.emplace_back("kept waiting", line.other_stack);
    finding.advice =
        profile.uses_runtime()
            ? "give it a stream of its own, create the others with cudaStreamCreateWithFlags(&s, "
              "cudaStreamNonBlocking), or compile with nvcc --default-stream per-thread; order what "
              "does depend on it with cudaStreamWaitEvent"
            : "give it a stream of its own, or create the others with CU_STREAM_NON_BLOCKING; order "
              "what does depend on it with cuStreamWaitEvent";
    finding.saving_ns = std::max(0.0, line.recorded_ns - line.free_ns);
    finding.basis =
        "times of these copies and kernels on the device, as the default stream orders them less with "
        "the order alone of what reaches the same memory";
    finding.confidence = Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_default_stream(const model::Profile& profile, const LineOf& line_of) {
    if (work_is_untold(profile))
        return {};
    const model::Machine machine = machine_of(profile);
    std::map<std::uint64_t, DefaultLine> lines;
    for (const model::WorkPattern& pattern : profile.work_patterns().patterns()) {
        if (!is_candidate(pattern))
            continue;
        const EngineTimes times = engine_times(profile, pattern);
        if (times.ns.empty() || times.pageable)
            continue;
        const double recorded = model::makespan(operations_of(pattern, times.ns, false), machine);
        const double freed = model::makespan(operations_of(pattern, times.ns, true), machine);
        if (freed > (1 - least_freed) * recorded)
            continue;
        const auto legacy = std::ranges::find_if(pattern.work, [&](const model::Work& work) {
            return pattern.queues[work.queue] == QueueKind::legacy;
        });
        add(lines[line_of(legacy->action->stack)], pattern, recorded, freed);
    }
    std::vector<Finding> findings;
    for (const auto& [stack, line] : lines)
        if (line.recorded_ns - line.free_ns >= least_saving_ns)
            findings.push_back(describe_default(profile, stack, line));
    return findings;
}

} // namespace umadvisor::findings

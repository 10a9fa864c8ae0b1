/// Work on the legacy default stream, which waits for all blocking streams and lets all of them wait.
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/transfers/default_stream_order.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>

namespace umadvisor::rules {
namespace {

struct DefaultLine {
    std::uint64_t between = 0, streams = 0;
    ids::StackId other_stack{};
    bool copies = true;
};

std::string advice_of(const Profile& profile) {
    return profile.uses_runtime()
               ? "use a separate stream for it, create the others with cudaStreamCreateWithFlags(&s, "
                 "cudaStreamNonBlocking), or compile with nvcc --default-stream per-thread; order dependent "
                 "work with cudaStreamWaitEvent"
               : "use a separate stream for it, or create the others with CU_STREAM_NON_BLOCKING; order "
                 "dependent work with cuStreamWaitEvent";
}

Finding describe(const Profile& profile, const std::map<ids::StackId, DefaultLine>& lines) {
    DefaultLine all;
    for (const auto& [stack, line] : lines) {
        all.between += line.between;
        all.streams = std::max(all.streams, line.streams);
        all.copies &= line.copies;
    }
    const auto most = std::ranges::max_element(lines, {}, [](const auto& each) { return each.second.between; });
    Finding finding;
    finding.rule = &uma_110;
    finding.title = finding.rule->title;
    finding.stack = most->first;
    finding.summary = fmt::format("{} on the default stream between work on {}: it waits for that work, and "
                                  "later work on these streams waits for it; they share no memory",
                                  count_text(all.between, all.copies ? "copy" : "operation"),
                                  count_text(all.streams, "other stream"));
    finding.evidence = {{"default_stream_operations", static_cast<double>(all.between)},
                        {"streams", static_cast<double>(all.streams)},
                        {"lines", static_cast<double>(lines.size())}};
    finding.places.emplace_back("kept waiting", most->second.other_stack);
    for (const auto& [stack, line] : lines)
        if (stack != finding.stack)
            finding.places.emplace_back(count_text(line.between, "operation"), stack);
    finding.advice = advice_of(profile);
    finding.basis = "replay of the run with this work on a separate stream";
    finding.confidence = Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_default_stream(const Profile& profile, const LineOf& line_of) {
    if (memory_use_is_unknown(profile))
        return {};
    std::map<ids::StackId, DefaultLine> lines;
    EditedCalls calls;
    for (const auto& [site, totals] : profile.counted<DefaultStreamOrder>().sites()) {
        if (totals.between == 0 || totals.shares)
            continue;
        DefaultLine& line = lines[line_of(site.stack)];
        line.between += totals.between;
        line.streams = std::max(line.streams, totals.streams);
        line.other_stack = totals.other_stack;
        line.copies &= totals.copies;
        calls.add(site, totals.between);
    }
    if (lines.empty())
        return {};
    Finding finding = describe(profile, lines);
    finding.saving_ns = static_cast<double>(profile.net_ns()); // no price but the replay
    finding.edit = calls.own_stream(profile);
    return {std::move(finding)};
}

constinit const Rule uma_110{.id = "UMA-110",
                             .name = "default-stream",
                             .title = "the default stream makes other streams wait",
                             .find = &find_default_stream,
                             .counter = &count<DefaultStreamOrder>,
                             .order = OrderUse::wait};

} // namespace umadvisor::rules

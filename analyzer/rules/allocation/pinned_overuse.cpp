/// Page-locked memory that no copy, memory set or kernel ever reached.
#include "analyzer/rules/wasted_memory.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {
namespace {

void describe_pinned_overuse(const Profile& profile, const WastedLine& line, Finding& finding) {
    finding.summary =
        fmt::format("{}, never copied from or to and reached by no kernel: {} to lock and unlock its pages",
                    allocations_text(profile, line), time_text(line.call_ns));
    finding.evidence.emplace_back("call_time_ns", line.call_ns);
    finding.advice =
        "allocate it with malloc or new: page-locked memory is for copies and for kernels that reach it";
    // Devices other than this one may reach it.
    finding.confidence = Confidence::medium;
}

} // namespace

constinit const Rule uma_406{
    .id = "UMA-406",
    .name = "pinned-overuse",
    .title = "page-locked memory that nothing is copied from or to",
    .find = &find_wasted<uma_406, trace::Memory::pinned, tables::Waste::never_used, describe_pinned_overuse>};

} // namespace umadvisor::rules

/// Memory of which one line makes more and more, without a free and without a use of what it made before.
#include "analyzer/rules/wasted_memory.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {
namespace {

void describe_leaked(const Profile& profile, const WastedLine& line, Finding& finding) {
    finding.summary = allocations_text(profile, line) +
                      ", never freed, and none used again after the line had allocated the next";
    finding.advice = std::string("free it before the next one is allocated, or keep one and reuse it: ") +
                     (profile.uses_runtime() ? "cudaFree" : "cuMemFree") + " belongs in the same loop";
    finding.confidence = Confidence::medium;
}

} // namespace

std::vector<Finding> find_leaked(const Profile& profile, const LineOf& line_of) {
    // A program that was killed had no chance to free anything, nor had one that ran on.
    const reader::TraceFile& file = profile.trace().file;
    if (!file.completeness().closed || file.header().late)
        return {};
    return find_wasted(profile, line_of, uma_404, trace::Memory::device, tables::Waste::leaked,
                       describe_leaked);
}

constinit const Rule uma_404{.id = "UMA-404",
                             .name = "leaked",
                             .title = "memory allocated again and again and never freed",
                             .find = &find_leaked};

} // namespace umadvisor::rules

/// The host reads managed memory that kernels may still write: no call between the launch and the read waits.
#include "analyzer/rules/correctness/missing_sync.hpp"

#include "analyzer/rules/correctness/missing_syncs.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>

namespace umadvisor::rules {
namespace {

/// The module that holds the frame's instruction; null: not known.
const trace::Module* module_of(const reader::Dictionary& dictionary, std::uint64_t frame) {
    const auto found = dictionary.frames.find(frame);
    if (found == dictionary.frames.end())
        return nullptr;
    const auto module = dictionary.modules.find(found->second.module);
    return module == dictionary.modules.end() ? nullptr : &module->second;
}

/// Code of the program reads in the module that launches. A library's line (memcpy's) is nothing to change.
bool is_program_code(const reader::Dictionary& dictionary, std::uint64_t code, ids::StackId launch) {
    if (code == 0)
        return false;
    const trace::Module* const read_in = module_of(dictionary, code);
    const trace::Module* const launched_in = module_of(dictionary, launch.number());
    return (read_in == nullptr && launched_in == nullptr) ||
           (read_in != nullptr && launched_in != nullptr && read_in->id == launched_in->id);
}

Finding describe(const Profile& profile, const LineOf& line_of, const ids::AllocationSite& site,
                 const MissingSync& missing) {
    Finding finding;
    finding.rule = &uma_601;
    finding.title = finding.rule->title;
    finding.allocation_stack = line_of(site.stack);
    finding.allocation_text = profile.call_name(site.entry) + " " + bytes_text(missing.bytes);
    std::map<ids::StackId, std::uint64_t> lines;
    for (const auto& [code, reads] : missing.codes)
        if (is_program_code(profile.dictionary(), code, missing.kernel.stack))
            lines[line_of(ids::StackId(code))] += reads;
    const auto most = std::ranges::max_element(lines, {}, [](const auto& line) { return line.second; });
    const ids::StackId launch = line_of(missing.kernel.stack);
    finding.stack = most == lines.end() ? launch : most->first;
    finding.touched_by_host = finding.stack != launch;
    const std::string kernel = kernels_text(profile, {missing.kernel.function});
    finding.summary = fmt::format(
        "the host reads it, {}, after the launch of {}, and no call in between waits for the kernel",
        count_text(missing.reads, "page fault"), kernel);
    finding.evidence = {{"host_faults", static_cast<double>(missing.reads)},
                        {"times", static_cast<double>(missing.windows)},
                        {"allocation_bytes", static_cast<double>(missing.bytes)}};
    if (finding.stack != launch)
        finding.places.emplace_back("launched here", missing.kernel.stack);
    if (const ids::StackId last = line_of(missing.last.stack); last != launch)
        finding.places.emplace_back("the last launch that may write it", last);
    for (const auto& [line, reads] : lines)
        if (line != finding.stack && line != launch)
            finding.places.emplace_back("the host reads it here, too", line);
    const bool runtime = profile.uses_runtime();
    const std::string wait = runtime ? "cudaStreamSynchronize(stream)" : "cuStreamSynchronize(stream)";
    finding.code_edits = {
        {most == lines.end() ? EditKind::insert_after : EditKind::insert_before, wait, finding.stack}};
    finding.advice = fmt::format("{}{} (or {}); without it the result is undefined", wait,
                                 most == lines.end() ? " after the launch, before the host reads"
                                                     : " after the last launch that may write it and before "
                                                       "the host first reads it, outside the loop that reads",
                                 runtime ? "cudaDeviceSynchronize()" : "cuCtxSynchronize()");
    finding.basis = "fixes a wrong result; no time is saved";
    finding.confidence = Confidence::medium;
    return finding;
}

} // namespace

std::set<ids::StackId> lines_that_race(const Profile& profile, const LineOf& line_of) {
    std::set<ids::StackId> lines;
    if (work_is_unknown(profile))
        return lines;
    for (const auto& [site, missing] : profile.counted<MissingSyncs>().sites())
        lines.insert(line_of(site.stack));
    return lines;
}

std::vector<Finding> find_missing_syncs(const Profile& profile, const LineOf& line_of) {
    if (work_is_unknown(profile))
        return {};
    std::map<ids::StackId, Finding> by_line;
    for (const auto& [site, missing] : profile.counted<MissingSyncs>().sites()) {
        Finding finding = describe(profile, line_of, site, missing);
        const ids::StackId line = finding.stack;
        const auto [known, fresh] = by_line.try_emplace(line, std::move(finding));
        if (!fresh && known->second.allocation_stack != line_of(site.stack))
            known->second.places.emplace_back("allocated here and also read too early", site.stack);
    }
    std::vector<Finding> findings;
    for (auto& [line, finding] : by_line)
        findings.push_back(std::move(finding));
    return findings;
}

constinit const Rule uma_601{.id = "UMA-601",
                             .name = "missing-sync",
                             .title = "the host reads managed memory that kernels may still write",
                             .find = &find_missing_syncs,
                             .counter = &count<MissingSyncs>,
                             .urgency = Urgency::wrong_result};

} // namespace umadvisor::rules

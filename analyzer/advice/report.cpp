#include "analyzer/advice/report.hpp"

#include "analyzer/advice/own_lines.hpp"
#include "analyzer/advice/own_names.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/rules/library_memory.hpp"
#include "analyzer/rules/python/python_advice.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/timeline/jobs.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::advice {

namespace {

std::optional<machine::Rates> rates_for(const reader::Dictionary& dictionary, const RatesOf& rates_of) {
    if (!rates_of || dictionary.devices.empty())
        return std::nullopt;
    return rates_of(std::string(dictionary.devices.front().device_name));
}

symbols::Options with_source_rule(symbols::Options options, const reader::Trace& trace) {
    struct stat status {};
    const bool own = ::stat(trace.file.source().opened().c_str(), &status) == 0 && status.st_uid == ::geteuid();
    options.source.shown = own || options.foreign_source;
    const reader::Header& header = trace.file.header();
    if (header.closed && header.realtime_ns != 0 && header.last.ticks > header.first.ticks) {
        const std::uint64_t length = trace.time.length(header.last.ticks - header.first.ticks);
        options.source.run_ended_ns = static_cast<std::int64_t>(
            std::min<std::uint64_t>(reader::saturated_sum(header.realtime_ns, length), INT64_MAX));
    }
    return options;
}

/// The function of one of CUDA's libraries that the program called there; empty where it is not known.
std::string library_function(symbols::Symbolizer& symbolizer, ids::StackId stack) {
    std::string name;
    bool inside = false;
    for (const symbols::CodePlace& place : symbolizer.places(stack)) {
        const bool library = rules::library_at(place.module.view()) != nullptr;
        if (inside && !library)
            break;
        inside = library;
        if (library)
            name = place.function.view();
    }
    return name;
}

/// Puts the remedy in Thrust's terms if Thrust makes the finding's calls: a program changes these only by the
/// execution policy that it passes.
void advise_on_thrust(rules::Finding& finding, symbols::Symbolizer& symbolizer) {
    const bool allocates = finding.rule == &rules::uma_401;
    if (!finding.stack.known() || (!allocates && (finding.rule != &rules::uma_506 || !finding.places.empty())))
        return;
    const std::vector<symbols::CodePlace> places = symbolizer.places(finding.stack);
    const auto line = std::ranges::find(places, symbolizer.line(finding.stack));
    if (std::none_of(places.begin(), line, [](const symbols::CodePlace& place) {
            return place.function.string().starts_with("thrust::");
        }))
        return;
    finding.advice = allocates
                         ? "Thrust allocates here: give its algorithm an allocator that keeps memory, "
                           "thrust::cuda::par(allocator).on(stream)"
                         : "Thrust waits here: thrust::cuda::par_nosync.on(stream) leaves out the waits that "
                           "no result needs" +
                               finding.order_advice;
}

} // namespace

Report::Report(const std::string& path, const symbols::Options& options, bool with_statistics,
               const RatesOf& rates_of, const reader::RangeQuery& query,
               const std::function<std::function<void()>(Report&)>& beside)
    : trace(path, query),
      statistics(with_statistics ? std::optional<tables::Statistics>(trace.dictionary) : std::nullopt),
      profile(trace, statistics ? &*statistics : nullptr, rates_for(trace.dictionary, rates_of)),
      symbolizer(trace.dictionary, with_source_rule(options, trace),
                 symbols::packed_symbols(trace.file.source())),
      full_stacks(options.full_stacks) {
    if (beside)
        beside_ = timeline::beside(beside(*this));
    Findings found = find_all(profile, [this](ids::StackId stack) {
        // What is called outside the ranges that are looked at has lines of its own.
        return ids::StackId(symbolizer.line_stack(stack).number(), stack.outside());
    });
    findings = std::move(found.all);
    hidden = std::move(found.hidden);
    unpriced = std::move(found.unpriced);
    stopped = std::move(found.stopped);
    together_ns = found.together_ns;
    spared = std::move(found.spared);
    together_at_least_ns = found.together_at_least_ns;
    together_at_most_ns = found.together_at_most_ns;
    const auto is_own = [this](ids::StackId stack) {
        return symbols::is_own(symbolizer.owner(symbolizer.line(stack)));
    };
    const auto framework_of = [this](ids::StackId stack) { return symbolizer.python_framework(stack); };
    for (std::vector<rules::Finding>* const list : {&findings, &unpriced, &stopped}) {
        prefer_own_lines(*list, is_own);
        prefer_python_lines(
            *list, profile, [this](ids::StackId stack) { return symbolizer.line_stack(stack); }, is_own,
            framework_of);
        rules::advise_in_python(*list, framework_of);
        advise_in_own_names(*list, symbolizer);
        for (rules::Finding& finding : *list)
            if (const std::string name = library_function(symbolizer, finding.library_stack); !name.empty())
                finding.summary.insert(0, name + ": ");
        for (rules::Finding& finding : *list)
            advise_on_thrust(finding, symbolizer);
    }
}

void Report::finish_beside() {
    if (beside_.valid())
        beside_.get();
}

std::string Report::unseen() const {
    std::vector<std::string> parts;
    std::uint64_t counted = 0;
    for (const rules::CountedEntry& entry : profile.counted())
        counted += entry.moves_memory ? entry.count : 0;
    if (counted != 0)
        parts.push_back(fmt::format("{} that {} counted but not recorded", text::count_text(counted, "call"),
                                    counted == 1 ? "was" : "were"));
    if (const std::uint64_t copies = profile.copies().uncompared(); copies != 0)
        parts.push_back(fmt::format("whether {} {} bytes (not compared)", text::count_text(copies, "copy"),
                                    copies == 1 ? "repeats" : "repeat"));
    if (std::ranges::any_of(profile.copies().sites(), [](const auto& site) {
            return site.first.asynchronous && site.second.direction == facts::Direction::DtoH;
        }))
        parts.emplace_back(
            "what the host reads while a download still runs (reads of page-locked memory are not recorded)");
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string Report::why_empty() const {
    if (left_out != 0)
        return fmt::format("only findings that the options exclude: {}", left_out);
    if (!unpriced.empty())
        return fmt::format("nothing with a known saving on this machine: {} without a price",
                           text::count_text(unpriced.size(), "finding"));
    if (profile.records() == 0)
        return trace.file.completeness().whole() ? "no CUDA call was recorded"
                                                 : "no record of the trace could be read";
    std::uint64_t copies = 0, managed = 0, observed = 0;
    for (const auto& [site, totals] : profile.copies().sites())
        copies += totals.small.count + totals.large.count;
    for (const auto& [site, totals] : profile.allocations().sites())
        if (site.memory == trace::Memory::managed && site.origin == trace::Origin::program) {
            managed += totals.count;
            observed += totals.observed;
        }
    std::string text =
        fmt::format("no problem was found: checked {}, {} and {}", text::count_text(copies, "copy"),
                    text::count_text(profile.launches().count(), "launch"),
                    text::count_text(managed, "managed allocation"));
    if (managed > observed)
        text += fmt::format("; the residency of {} of them was never sampled", managed - observed);
    if (const std::string what = unseen(); !what.empty())
        text += ". Not visible in this run: " + what;
    return text;
}

std::vector<Report::StackLine> Report::whole_stack(ids::StackId stack) {
    std::vector<StackLine> lines;
    const std::vector<symbols::CodePlace> places = symbolizer.places(stack);
    for (const symbols::CodePlace& place : places) {
        std::string text = place.text();
        if (text.size() > stack_text_left_) {
            lines.push_back({fmt::format("({} omitted: the stacks of this report have too much text)",
                                         text::count_text(places.size() - lines.size(), "frame"))});
            break;
        }
        stack_text_left_ -= text.size();
        lines.push_back({std::move(text), place.inlined});
    }
    return lines;
}

} // namespace umadvisor::advice

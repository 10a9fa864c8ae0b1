/// What `umadvisor report` prints.
#pragma once

#include "analyzer/advice/findings.hpp"
#include "analyzer/rules/profile.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "analyzer/tables/statistics.hpp"

#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace umadvisor::advice {

/// By a device's name, in place of what the trace carries.
using RatesOf = std::function<machine::Rates(const std::string& device)>;

/// A trace and everything made from it.
class Report {
public:
    /// Throws Error when the file cannot be read at all, or has none of the ranges that `query` asks for.
    /// `rates_of`, if any, says what moving memory costs on a device; else the trace does. `beside` is called
    /// when the profile is made; what it returns runs beside the rest until finish_beside(), in a thread of its
    /// own where one is free (timeline/jobs.hpp), and must not look symbols up.
    explicit Report(const std::string& path, const symbols::Options& options = {}, bool with_statistics = false,
                    const RatesOf& rates_of = {}, const reader::RangeQuery& query = {},
                    const std::function<std::function<void()>(Report&)>& beside = {});

    reader::Trace trace;
    std::optional<tables::Statistics> statistics; ///< where asked for
    rules::Profile profile;
    symbols::Symbolizer symbolizer;
    bool full_stacks;         ///< whole stacks in the text, too
    bool all = false;         ///< in the text, all findings in full
    bool all_managed = false; ///< in the text, all that is known of managed memory
    std::vector<rules::Finding> findings;
    std::vector<rules::Finding>
        hidden; ///< of Python, whose replay gains nothing: what they cost passes meanwhile
    std::vector<rules::Finding> stopped;  ///< not shown: their remedies would take away an order that is needed
    std::vector<rules::Finding> unpriced; ///< what they cost is not known on this machine
    double together_at_least_ns = 0, together_at_most_ns = 0; ///< where calls leave it open; else 0
    double together_ns = 0;   ///< that all findings save together, those left out included
    timeline::Spared spared;  ///< where the remedies that are replayed take time off the run
    std::size_t left_out = 0; ///< findings that were asked not to be shown
    /// By finding, its remedy as a unified diff; the command that shows it fills it in.
    std::map<const rules::Finding*, std::string> patches;

    /// Returns when what was to run beside is done. Throws what it threw.
    void finish_beside();
    /// Why there are no findings, in a sentence.
    std::string why_empty() const;
    /// Lists the evidence that findings lack in this run, since it was not recorded; empty: they lack none.
    std::string unseen() const;
    struct StackLine {
        std::string text;
        bool inlined = false;
    };
    /// The places of a stack, innermost first. All that one report shows have 3 MiB of text together, ten times
    /// what a large program's take; the last line says how many frames are beyond.
    std::vector<StackLine> whole_stack(ids::StackId stack);

private:
    std::size_t stack_text_left_ = 3 << 20; ///< bytes
    std::future<void> beside_;              ///< the last: it uses the others until it is destroyed
};

} // namespace umadvisor::advice

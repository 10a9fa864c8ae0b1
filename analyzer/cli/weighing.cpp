#include "analyzer/cli/weighing.hpp"
#include "analyzer/cli/losses.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

namespace umadvisor::cli {

OptionSpec weight_option() {
    return {"--by", "WEIGHT", "time (the default), copied, pageable, allocated (bytes), faults"};
}

std::optional<reports::Weight> weight_of(const Arguments& arguments) {
    if (!arguments.has("--by"))
        return reports::Weight::time;
    for (const reports::Weight weight : reports::weights)
        if (arguments.value("--by") == name(weight))
            return weight;
    say("--by takes time, copied, pageable, allocated or faults, not " + arguments.value("--by"));
    return std::nullopt;
}

reports::WeighedStacks weigh(const Arguments& arguments, reports::Weight by, const reader::RangeQuery& ranges) {
    const symbols::Options options = stack_options(arguments);
    show_reading(1);
    reader::Trace trace(arguments.rest.front(), ranges);
    const rules::Profile profile(trace);
    symbols::Symbolizer symbolizer(trace.dictionary, options, symbols::packed_symbols(trace.file.source()));
    std::optional<html::Timeline> timeline;
    if (is_time(by)) {
        html::TimelinePass pass(profile, symbolizer);
        show_reading(1, trace.file.chunks().size());
        pass.run();
        timeline = pass.finish();
    }
    reports::WeighedStacks stacks = reports::weighed_stacks(profile, symbolizer, by, options.full_stacks,
                                                            SIZE_MAX, timeline ? &*timeline : nullptr);
    end_progress();
    say_losses(trace);
    for (const std::string& warning : symbolizer.warnings())
        say(warning);
    if (stacks.left_out != 0)
        say(fmt::format("{}: has too many stacks; the {} that weigh least are one", trace.file.path(),
                        stacks.left_out));
    if (stacks.stacks.empty())
        say(fmt::format("{}: nothing to show by {}", trace.file.path(), name(by)));
    return stacks;
}

} // namespace umadvisor::cli

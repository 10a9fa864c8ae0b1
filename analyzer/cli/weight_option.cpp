#include "analyzer/cli/weight_option.hpp"

#include "analyzer/cli/message.hpp"

namespace umadvisor::cli {

OptionSpec weight_option() {
    return {"--by", "WEIGHT",
            "blocked (time in calls that wait, the default), copied, pageable, allocated (bytes), faults"};
}

std::optional<model::Weight> weight_of(const Arguments& arguments) {
    if (!arguments.has("--by"))
        return model::Weight::blocked;
    for (const model::Weight weight : model::weights)
        if (arguments.value("--by") == name(weight))
            return weight;
    say("--by takes blocked, copied, pageable, allocated or faults, not " + arguments.value("--by"));
    return std::nullopt;
}

} // namespace umadvisor::cli

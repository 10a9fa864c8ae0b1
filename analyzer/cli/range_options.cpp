#include "analyzer/cli/range_options.hpp"

#include "analyzer/cli/message.hpp"

namespace umadvisor::cli {

std::vector<OptionSpec> with_range_options(std::vector<OptionSpec> options) {
    options.insert(
        options.end(),
        {{"--range", "GLOB", "Only inside the program's NVTX ranges of this name"},
         {"--domain", "GLOB", "With --range: only of this NVTX domain; default: any but those of libraries"}});
    return options;
}

std::optional<reader::RangeQuery> range_query(const Arguments& arguments) {
    reader::RangeQuery query{arguments.has("--range") ? arguments.value("--range") : "",
                             arguments.has("--domain") ? arguments.value("--domain") : ""};
    if (arguments.has("--range") && query.name.empty()) {
        say("--range takes the name of a range, or a glob");
        return std::nullopt;
    }
    if (arguments.has("--domain") && query.name.empty()) {
        say("--domain needs --range, the name of ranges in that domain");
        return std::nullopt;
    }
    return query;
}

} // namespace umadvisor::cli

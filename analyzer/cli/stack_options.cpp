#include "analyzer/cli/stack_options.hpp"

#include <iterator>

namespace umadvisor::cli {

std::vector<OptionSpec> with_stack_options(std::vector<OptionSpec> own) {
    const OptionSpec shared[] = {
        {"--full-stacks", "", "Whole stacks, also frames of CUDA and of known frameworks"},
        {"--hide", "GLOB", "Not the program's own code: module, file or function; repeatable", true},
        {"--show", "GLOB", "The program's own code all the same; repeatable", true},
    };
    own.insert(own.end(), std::begin(shared), std::end(shared));
    return own;
}

symbols::Options stack_options(const Arguments& arguments) {
    symbols::Options options;
    options.full_stacks = arguments.has("--full-stacks");
    options.hide = arguments.values("--hide");
    options.show = arguments.values("--show");
    return options;
}

} // namespace umadvisor::cli

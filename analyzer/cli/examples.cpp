#include "analyzer/cli/examples.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::cli {
namespace {

struct Examples {
    std::string_view command;
    std::array<std::string_view, 2> lines;
};

constexpr Examples all_examples[] = {
    {"run",
     {"umadvisor run -- ./app input.dat", "umadvisor run -o app.umtrace --act prefetch -- python3 train.py"}},
    {"attach", {"umadvisor attach train.py --for 30s", "umadvisor attach 4242 start -o app.umtrace"}},
    {"top", {"umadvisor top", "umadvisor top --once --json train.py"}},
    {"ab",
     {"umadvisor ab --act prefetch -- ./app", "umadvisor ab --before ./app.old --after ./app -- input.dat"}},
    {"report",
     {"umadvisor report app.4242.umtrace", "umadvisor report --html -o report.html app.4242.umtrace"}},
    {"diff",
     {"umadvisor diff before.umtrace after.umtrace",
      "umadvisor diff --html -o diff.html before.json after.umtrace"}},
    {"check",
     {"umadvisor check --baseline before.json app.umtrace",
      "umadvisor check --baseline before.umtrace --fail-on high app.umtrace"}},
    {"stats", {"umadvisor stats app.umtrace", "umadvisor stats --table copies --format csv app.umtrace"}},
    {"flame",
     {"umadvisor flame app.umtrace | flamegraph.pl > app.svg",
      "umadvisor flame --by copied --format speedscope -o app.json app.umtrace"}},
    {"tree", {"umadvisor tree app.umtrace", "umadvisor tree --by faults --threshold 5 app.umtrace"}},
    {"dump",
     {"umadvisor dump app.umtrace", "umadvisor dump --json app.umtrace | jq 'select(.record == \"Copy\")'"}},
    {"export",
     {"umadvisor export --perfetto -o app.pftrace app.umtrace",
      "umadvisor export --sqlite -o app.db app.umtrace"}},
    {"merge", {"umadvisor merge -o job.umjob app.*.umsum", "umadvisor merge -f -o job.umjob app.*.umtrace"}},
    {"pack",
     {"umadvisor pack -o app.packed.umtrace app.umtrace",
      "umadvisor pack --source -o app.packed.umtrace app.umtrace"}},
    {"patch",
     {"umadvisor patch app.umtrace > fix.diff",
      "umadvisor patch -n 1 --source-root src app.umtrace | patch -p1 -d src"}},
    {"prove",
     {"umadvisor prove fix.diff --build 'make -j8' -- ./app input.dat",
      "umadvisor prove fix.diff --ignore '[0-9.]+ ms' -- python3 train.py"}},
    {"whatif",
     {"umadvisor whatif --gpu-memory 24GiB app.umtrace",
      "umadvisor whatif --link 25 --act prefetch app.umtrace"}},
    {"plan",
     {"umadvisor plan -o app.plan app.umtrace", "umadvisor plan -f -o app.plan first.umtrace second.umtrace"}},
    {"doctor", {"umadvisor doctor", "umadvisor doctor --timeout 300"}},
    {"calibrate", {"umadvisor calibrate", "umadvisor calibrate --device 1 -o machine.json"}},
    {"explain", {"umadvisor explain UMA-101", "umadvisor explain pageable-copy"}},
    {"completion",
     {"umadvisor completion bash > ~/.local/share/bash-completion/completions/umadvisor",
      "umadvisor completion fish | source"}},
    {"help", {"umadvisor help env", "umadvisor help coverage"}},
};

} // namespace

std::span<const std::string_view> examples_of(std::string_view command) {
    const Examples* const found = std::ranges::find(all_examples, command, &Examples::command);
    return found == std::end(all_examples) ? std::span<const std::string_view>() : found->lines;
}

} // namespace umadvisor::cli

#include "analyzer/whatif/outlook.hpp"

#include "analyzer/cli/act_modes.hpp"
#include "analyzer/cli/command.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/machine/recorded_rates.hpp"
#include "analyzer/text/json_text.hpp"
#include "trace/size_text.hpp"

#include <charconv>
#include <cmath>
#include <iostream>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace umadvisor::cli {
namespace {

/// Of a number of GB/s, bytes per second.
std::optional<double> speed_of(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && std::isfinite(number) && number > 0 ? std::optional(number * 1e9) : std::nullopt;
}

constexpr std::string_view replayed = "prefetch, rewrite=all";

int wrong(const std::string& text) {
    say(text);
    return usage_error;
}

int whatif(const Arguments& arguments) {
    whatif::Question question;
    if (arguments.has("--gpu-memory")) {
        std::uint64_t size = 0;
        if (!trace::parse_size(arguments.value("--gpu-memory"), size) || size == 0)
            return wrong("--gpu-memory takes a size such as 512MiB or 8GiB, not " +
                         arguments.value("--gpu-memory"));
        question.gpu_memory = size;
    }
    if (arguments.has("--link")) {
        const std::optional<double> speed = speed_of(arguments.value("--link"));
        if (!speed)
            return wrong("--link takes a number of GB/s such as 25 or 12.5, not " + arguments.value("--link"));
        question.link = *speed;
    }
    if (arguments.has("--act"))
        question.act = arguments.value("--act");
    if (const std::string trouble = act_trouble(question.act, replayed); !trouble.empty())
        return wrong(trouble);

    reader::Trace trace(arguments.rest.front());
    const auto& devices = trace.dictionary.devices;
    const std::string device(devices.empty() ? std::string_view() : devices.front().device_name);
    question.rates_named = arguments.has("--machine");
    if (question.rates_named)
        question.rates = machine::rates_of(machine::read_rates(arguments.value("--machine")), device);
    else
        question.rates = machine::recorded_rates(trace.dictionary);
    // Each policy is replayed on the same blocks: what one gives back, the next takes again, and the kernel
    // need not clear it in between (mallopt(3)).
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    const whatif::Outlook outlook = whatif::outlook(trace, question);
    say_losses(trace);
    if (arguments.has("--json"))
        std::cout << text::json_text(to_json(outlook), 2) << "\n";
    else
        write_text(outlook, std::cout);
    return done;
}

} // namespace

const Command whatif_command{
    "whatif",
    "Predict how a recorded program would run on a card with less memory or another link",
    "FILE",
    1,
    1,
    {{"--gpu-memory", "SIZE", "Memory of that card; default: that of the recorded one"},
     {"--link", "GBPS", "GB/s of its link in each direction; default: as calibrated, or an H200's"},
     {"--act", "LIST", "What umadvisor does there: prefetch, rewrite=all; default: prefetch"},
     {"--machine", "FILE", "Rates of the machine, as written by umadvisor calibrate -o FILE"},
     {"--json", "", "The same as JSON"}},
    &whatif};

} // namespace umadvisor::cli

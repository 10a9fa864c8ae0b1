#include "captured_run.hpp"
#include "trial.hpp"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace umadvisor::fuzz {
namespace {

constexpr std::size_t whole_traces = 4;

std::string other_name(std::size_t number) {
    return "other" + std::to_string(number) + ".umtrace";
}

/// Replaces, here and there, what a report says.
void change_document(nlohmann::json& document, Random& random, std::uint64_t every) {
    if (document.is_structured())
        for (auto& part : document)
            change_document(part, random, every);
    if (random() % every != 0)
        return;
    if (document.is_string() && random() % 8 != 0)
        document = hostile_text(random);
    else if (document.is_number() && random() % 8 != 0)
        document = hostile_number(random);
    else if (random() % 4 == 0) // of another type
        document = random() % 2 == 0 ? nlohmann::json(nullptr)
                                     : nlohmann::json::array({"text", 1, nlohmann::json::object()});
}

std::string changed_report(const std::string& report, Random& random) {
    nlohmann::json document = nlohmann::json::parse(report);
    change_document(document, random, 1 + random() % 40);
    std::string text = document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (random() % 4 == 0)
        text[random() % text.size()] = static_cast<char>(random());
    if (random() % 16 == 0)
        text.resize(random() % text.size());
    return text;
}

} // namespace

Inputs::Inputs(std::uint64_t seed, std::vector<TraceImage> starting_traces)
    : seed_(seed), traces_(std::move(starting_traces)) {
    std::ofstream(std::string(secret_file)) << secret_content << "\n";
    ::mkfifo(std::string(fifo_file).c_str(), 0600);
    for (std::size_t i = 0; i < whole_traces; ++i) {
        const Bytes bytes = traces_.at(i).bytes();
        std::ofstream(other_name(i), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        reports_.push_back(run_captured({"report", "--json", other_name(i)}, most_output, most_output).out);
    }
}

Input Inputs::make(std::uint64_t number, bool with_baseline) const {
    constexpr std::array<const char*, 4> names{"\x1b[31mtrace\x1b[0m.umtrace", "trace\nFORGED.umtrace",
                                               "\xc2\x9btrace\xe2\x80\xae.umtrace", "\xfftrace.umtrace"};
    Random random(seed_ * 0x9e3779b97f4a7c15 + number);
    Input input;
    input.other_name = other_name(random() % whole_traces);
    input.trace_name = random() % 8 == 0 ? names[random() % names.size()] : "trace.umtrace";
    input.baseline_name = random() % 8 == 0 ? "\x1b[31mbaseline\nFORGED\xc2\x9b.json" : "baseline.json";
    input.trace = damaged(random() % 2 == 0 ? made_up_trace(random) : traces_[random() % traces_.size()],
                          traces_, random);
    if (with_baseline)
        input.baseline = changed_report(reports_[random() % reports_.size()], random);
    return input;
}

} // namespace umadvisor::fuzz

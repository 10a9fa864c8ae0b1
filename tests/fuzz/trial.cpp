#include "trial.hpp"

#include "captured_run.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sys/time.h>

namespace umadvisor::fuzz {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

double processor_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// proc(5): 5 sets the peak back to what is resident now.
void forget_peak() {
    std::ofstream("/proc/self/clear_refs") << "5";
}

std::uint64_t peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:"))
            return std::stoull(line.substr(6)) * 1024;
    return 0;
}

/// Ends the process where it has waited since the last tick, not worked: however busy the machine is, a process
/// that can work gets some of the processor in five seconds.
void check_progress(int) {
    constexpr double least = 1e-3;
    static double before = 0;
    const double now = processor_seconds();
    if (now - before < least)
        ::signal(SIGALRM, SIG_DFL), ::raise(SIGALRM);
    before = now;
}

/// SIGPROF ends the process after so many seconds of the processor; 0: no limit any more.
void limit_time(long processor) {
    const long tick = processor == 0 ? 0 : 5;
    const itimerval of_processor{{}, {processor, 0}}, of_any{{tick, 0}, {tick, 0}};
    ::signal(SIGALRM, &check_progress);
    ::setitimer(ITIMER_PROF, &of_processor, nullptr);
    ::setitimer(ITIMER_REAL, &of_any, nullptr);
}

void write_file(const std::string& name, const char* bytes, std::size_t size) {
    std::ofstream(name, std::ios::binary | std::ios::trunc).write(bytes, static_cast<std::streamsize>(size));
}

std::vector<std::string> arguments(const CommandLine& line, const Input& input) {
    std::vector<std::string> all = line.arguments;
    for (std::string& argument : all)
        argument = argument == "TRACE"      ? input.trace_name
                   : argument == "OTHER"    ? input.other_name
                   : argument == "BASELINE" ? input.baseline_name
                                            : argument;
    return all;
}

void check_status(const CommandLine& line, int status, std::string_view out, std::string_view messages,
                  std::vector<Objection>& found) {
    if (status != 0 && status != 1 && !(status == 3 && line.gate))
        found.push_back({"exit status", std::to_string(status)});
    if (status == 1 && messages.empty())
        found.push_back({"silent failure", {}});
    if (status == 0 && out.empty() && (line.format == Format::json || line.format == Format::sarif))
        found.push_back({"JSON", "nothing was written"});
    if (messages.find("out of memory") != std::string_view::npos)
        found.push_back({"memory", "out of memory"});
}

/// What was written in place of the standard output, and is gone after.
void check_file(const std::string& name, std::uint64_t input, std::vector<Objection>& found) {
    std::ifstream file(name, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    std::remove(name.c_str());
    if (content.size() > input + most_output)
        found.push_back({"output", std::to_string(content.size()) + " bytes of " + std::to_string(input)});
    if (content.find(secret_content) != std::string::npos)
        found.push_back({"another file", {}});
}

} // namespace

Outcome run(const CommandLine& line, const Input& input) {
    write_file(input.trace_name, reinterpret_cast<const char*>(input.trace.data()), input.trace.size());
    write_file(input.baseline_name, input.baseline.data(), input.baseline.size());
    const std::vector<std::string> all = arguments(line, input);
    const bool dump = line.format == Format::dump || line.format == Format::json_dump;
    const std::uint64_t bound = dump ? most_dump * input.trace.size() : most_output;

    Outcome outcome;
    forget_peak();
    limit_time(static_cast<long>(most_seconds) * (sanitized ? 40 : 4));
    const double begin = processor_seconds();
    const CapturedRun result = run_captured(all, bound, most_output);
    outcome.status = result.status;
    outcome.seconds = processor_seconds() - begin;
    limit_time(0);
    outcome.memory = peak_memory();
    outcome.output = result.out_bytes + result.message_bytes;
    std::remove(input.trace_name.c_str());

    check_status(line, outcome.status, result.out, result.messages, outcome.objections);
    if (result.out_bytes > bound || result.message_bytes > most_output)
        outcome.objections.push_back(
            {"output", std::to_string(outcome.output) + " bytes of " + std::to_string(input.trace.size())});
    else
        for (Objection& objection : check_output(line.format, result.out))
            outcome.objections.push_back(std::move(objection));
    for (Objection& objection : check_messages(result.messages))
        outcome.objections.push_back(std::move(objection));
    check_file(std::string(output_file), input.trace.size(), outcome.objections);
    if (!sanitized && outcome.seconds > most_seconds)
        outcome.objections.push_back({"time", std::to_string(outcome.seconds) + " s"});
    if (!sanitized && outcome.memory > most_memory)
        outcome.objections.push_back({"memory", std::to_string(outcome.memory >> 20) + " MiB"});
    return outcome;
}

} // namespace umadvisor::fuzz

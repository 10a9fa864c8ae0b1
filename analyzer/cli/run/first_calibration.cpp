#include "analyzer/cli/run/first_calibration.hpp"

#include "analyzer/cli/run/child_process.hpp"
#include "analyzer/cli/usual_rates.hpp"
#include "analyzer/machine/recorded_rates.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>

namespace umadvisor::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience_with_driver{
    30}; ///< a driver without other users takes seconds to wake up

/// While it lives, Ctrl-C ends the child that measures, but not this process, which still has to pass on the
/// program's exit status. The child does not inherit a handler as it would an ignored signal (execve(2)).
class Outlived {
public:
    Outlived() : before_(::signal(SIGINT, [](int) {})) {
        if (before_ == SIG_IGN)
            ::signal(SIGINT, SIG_IGN);
    }
    ~Outlived() { ::signal(SIGINT, before_); }
    Outlived(const Outlived&) = delete;
    Outlived& operator=(const Outlived&) = delete;

private:
    void (*before_)(int);
};

/// The name of the device whose prices a report on the trace uses; empty if it has none, or they are known to
/// the trace or to this machine.
std::string unknown_device(const std::string& path) {
    try {
        reader::Trace trace(path);
        if (trace.dictionary.devices.empty() || !machine::recorded_rates(trace.dictionary).device.empty() ||
            reader::EventStream(trace.file).next() == nullptr)
            return {};
        const std::string name(trace.dictionary.devices.front().device_name);
        return usual_rates(name).device.empty() ? name : "";
    } catch (const reader::Error&) { // the report says so
        return {};
    }
}

/// The part of the child's error line that says what is wrong. Its advice is for users of `calibrate`.
std::string words_of(const ChildResult& child) {
    constexpr std::string_view begin = "umadvisor: ";
    const std::size_t at = child.err.find(begin);
    if (at == std::string::npos)
        return fmt::format("status {}", child.status);
    const std::string line = child.err.substr(at + begin.size());
    return line.substr(0, std::min(line.find("; "), line.find('\n')));
}

std::string trouble_of(const ChildResult& child) {
    if (!child.ended)
        return fmt::format("it took more than {} s and was given up", patience_with_driver.count());
    if (child.status > 128)
        return fmt::format("signal {} ended it", child.status - 128);
    return words_of(child);
}

/// A line; empty: another process has done it.
std::string calibrate(const std::string& name) {
    const Outlived outlived;
    const Clock::time_point begin = Clock::now();
    const ChildResult child =
        run_child("/proc/self/exe", {"umadvisor", "calibrate", std::string(unknown_device_flag), name},
                  {{"LD_PRELOAD", ""}}, patience_with_driver);
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    if (!child.ended || child.status != 0)
        return fmt::format("{} is not calibrated (--no-calibrate does not try): {}", name, trouble_of(child));
    return child.out.empty()
               ? ""
               : fmt::format("calibrated {} for this trace and later ones, in {} (--no-calibrate does not): {}",
                             name, text::time_text(ns), usual_rates_file());
}

} // namespace

std::vector<std::string> calibrate_unknown_devices(const std::vector<std::string>& paths) {
    std::set<std::string> names;
    for (const std::string& path : paths)
        if (const std::string name = unknown_device(path); !name.empty())
            names.insert(name);
    std::vector<std::string> lines;
    for (const std::string& name : names)
        if (std::string line = calibrate(name); !line.empty())
            lines.push_back(std::move(line));
    return lines;
}

} // namespace umadvisor::cli

#include "analyzer/cli/live/attach_recording.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/live/group.hpp"
#include "analyzer/cli/live/signals.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/live/answer.hpp"

#include <algorithm>
#include <map>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

using live::Connection, live::Process, live::Request;

/// A process, by pid and number in its own namespace, and where its trace is found.
using Traces = std::map<std::pair<pid_t, pid_t>, std::string>;

std::pair<pid_t, pid_t> key_of(const Connection& connection) {
    return {connection.process().pid, connection.process().inner_pid};
}

/// A process that ends writes its trace until it has ended.
void wait_for_end(const Process& process) {
    constexpr int longest_ms = 10'000;
    const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    if (handle < 0)
        return;
    pollfd waiting{.fd = handle, .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, longest_ms);
    ::close(handle);
}

/// Returns when Ctrl-C was pressed, the time is over, or all have ended. Those that have ended are left out
/// from then on.
void wait_for_recordings(std::vector<Connection>& connections, const Signals& interrupt,
                         const std::optional<std::uint64_t>& for_ns) {
    const live::Clock::time_point last =
        for_ns ? live::Clock::now() + std::chrono::nanoseconds(*for_ns) : live::Clock::time_point::max();
    while (!connections.empty()) {
        std::vector<pollfd> waiting{{.fd = interrupt.descriptor(), .events = POLLIN, .revents = 0}};
        for (const Connection& each : connections)
            waiting.push_back({.fd = each.descriptor(), .events = POLLIN, .revents = 0});
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - live::Clock::now()).count();
        constexpr std::int64_t longest_ms = 60'000;
        ::poll(waiting.data(), waiting.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, longest_ms)));
        if (waiting.front().revents != 0 || live::Clock::now() >= last)
            return;
        std::erase_if(connections, [](Connection& each) {
            const bool over = each.is_over();
            if (over)
                wait_for_end(each.process());
            return over;
        });
    }
}

int print_report(const Traces& traces) {
    Arguments arguments;
    for (const auto& [process, file] : traces)
        arguments.rest.push_back(file);
    return report_command.run(arguments);
}

} // namespace

int record_and_report(Chosen chosen, const OutputNames& outputs, const std::optional<std::uint64_t>& for_ns) {
    Traces traces;
    std::size_t failed = 0;
    {
        const Signals interrupt{SIGINT};
        failed = ask_all(
            chosen.connections,
            [&](const Process& process) { return outputs.add_to(Request("start").with("hold", "1"), process); },
            [&](Connection& connection, const nlohmann::json& answer) {
                const std::string file = live::text_of(answer, "file");
                traces[key_of(connection)] = reached_trace(connection.process(), file);
                say(fmt::format("process {} records to {}{}", connection.process().text(), file,
                                for_ns ? "" : "; Ctrl-C ends it"));
            });
        std::vector<Connection> recording;
        for (Connection& each : chosen.connections)
            if (traces.contains(key_of(each)))
                recording.push_back(std::move(each));
        wait_for_recordings(recording, interrupt, for_ns);
        failed += ask_all(
            recording, [](const Process&) { return Request("stop"); },
            [&](Connection& connection, const nlohmann::json& answer) {
                traces[key_of(connection)] = reached_trace(connection.process(), live::text_of(answer, "file"));
            });
    }
    if (traces.empty())
        return operational_error;
    const int reported = print_report(traces);
    return reported != done ? reported : failed != 0 || chosen.refused ? operational_error : done;
}

} // namespace umadvisor::cli

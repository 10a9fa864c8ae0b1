#include "analyzer/cli/live/chosen.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/live/discovery.hpp"
#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

constexpr const char* how_to_start = "start the program with umadvisor run --standby -- ./app";

/// 0: `given` is a name.
pid_t number_of(const std::string& given) {
    pid_t pid = 0;
    const auto [end, failed] = std::from_chars(given.data(), given.data() + given.size(), pid);
    return failed == std::errc() && end == given.data() + given.size() && pid > 0 ? pid : 0;
}

/// 0, -5 and numbers that no process can have are meant as PIDs, but are none.
void refuse_number(const std::string& given) {
    const std::string_view digits = std::string_view(given).substr(given.starts_with('-') ? 1 : 0);
    if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos &&
        number_of(given) == 0)
        throw reader::Error(fmt::format("{} is no PID: give the PID or the name of a process", given));
}

[[noreturn]] void fail_without_socket(const live::Process& process) {
    if (!process.has_shim())
        throw reader::Error(fmt::format("process {} runs without umadvisor: {}", process.text(), how_to_start));
    const std::string why = process.variable("UMADVISOR_CONTROL") == "0"
                                ? "UMADVISOR_CONTROL=0 switches it off: start the program without that"
                                : "the process has not called CUDA yet, or said on its stderr why it has none";
    throw reader::Error(fmt::format("process {} has no control socket: {}", process.text(), why));
}

/// Says why processes were refused. Throws where none is left.
Chosen chosen(live::Discovery found) {
    if (found.connections.empty() && !found.refusals.empty())
        throw reader::Error(found.refusals.front());
    for (const std::string& refusal : found.refusals)
        say(refusal);
    return {std::move(found.connections), !found.refusals.empty()};
}

/// The one that has this number in a container which is not seen from here, if there is one.
Chosen choose_unseen(pid_t inner_pid) {
    Chosen one;
    live::Discovery all = live::discover();
    for (live::Connection& each : all.connections)
        if (each.process().pid == 0 && each.process().inner_pid == inner_pid)
            one.connections.push_back(std::move(each));
    return one;
}

Chosen choose_number(pid_t pid) {
    const std::optional<live::Process> process = live::read_process(pid);
    const bool own = process && process->user == ::geteuid();
    if (own)
        if (Chosen one = chosen(live::discover(*process)); !one.connections.empty())
            return one;
    if (Chosen one = choose_unseen(pid); !one.connections.empty())
        return one;
    if (own)
        fail_without_socket(*process);
    throw reader::Error(
        process ? fmt::format("process {} is another user's: only that user can attach to it", process->text())
                : fmt::format("there is no process {}", pid));
}

/// All of this name.
Chosen choose_name(const std::string& name) {
    live::Discovery found;
    std::optional<live::Process> unreachable;
    for (const live::Process& process : live::own_processes()) {
        if (!process.is_called(name))
            continue;
        live::Discovery one = live::discover(process);
        if (one.connections.empty() && one.refusals.empty() && (!unreachable || process.has_shim()))
            unreachable = process;
        std::ranges::move(one.connections, std::back_inserter(found.connections));
        std::ranges::move(one.refusals, std::back_inserter(found.refusals));
    }
    if (found.connections.empty() && found.refusals.empty()) {
        if (unreachable)
            fail_without_socket(*unreachable);
        throw reader::Error(fmt::format("no process of yours is called {}: {}", name, how_to_start));
    }
    return chosen(std::move(found));
}

} // namespace

Chosen choose_all() {
    Chosen all = chosen(live::discover());
    if (all.connections.empty())
        throw reader::Error(fmt::format("no process of yours has a control socket: {}", how_to_start));
    return all;
}

Chosen choose_one(const std::string& given) {
    refuse_number(given);
    if (const pid_t pid = number_of(given); pid != 0)
        return choose_number(pid);
    Chosen all = choose_name(given);
    if (all.connections.size() == 1)
        return all;
    std::string list;
    for (const live::Connection& each : all.connections)
        list += (list.empty() ? "" : ", ") + each.process().text();
    throw reader::Error(fmt::format("{} stands for {} processes: {}: give a PID, or --all", given,
                                    all.connections.size(), list));
}

Chosen choose_each(const std::vector<std::string>& given) {
    Chosen all;
    for (const std::string& each : given) {
        refuse_number(each);
        Chosen some = number_of(each) != 0 ? choose_number(number_of(each)) : choose_name(each);
        for (live::Connection& one : some.connections)
            if (std::ranges::none_of(all.connections, [&](const live::Connection& other) {
                    return other.process().pid == one.process().pid &&
                           other.process().inner_pid == one.process().inner_pid;
                }))
                all.connections.push_back(std::move(one));
        all.refused = all.refused || some.refused;
    }
    return all;
}

} // namespace umadvisor::cli

#include "analyzer/reports/perfetto/perfetto_run.hpp"

#include "analyzer/reader/saturated.hpp"
#include "analyzer/reports/weighed_stacks.hpp"

#include <algorithm>
#include <climits>

namespace umadvisor::reports::perfetto {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

/// "train (rank 3 on node7, pid 4242)".
std::string process_name(const advice::Report& report) {
    std::string name = report.profile.program() + " (", rank, host;
    for (const trace::Process& process : report.trace.dictionary.processes) {
        rank = process.rank;
        host = process.host;
    }
    if (!rank.empty())
        name += fmt::format("rank {}{}", rank, host.empty() ? ", " : " ");
    if (!host.empty())
        name += fmt::format("on {}, ", host);
    return fmt::format("{}pid {})", name, report.trace.file.header().pid);
}

std::vector<std::string> arguments(const advice::Report& report) {
    std::vector<std::string> all;
    if (report.trace.dictionary.processes.empty())
        return all;
    std::string_view left = report.trace.dictionary.processes.front().command_line;
    while (!left.empty() && all.size() < 256) {
        const std::size_t end = std::min(left.find('\0'), left.size());
        all.emplace_back(left.substr(0, end));
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    return all;
}

} // namespace

Run::Run(PacketFile& file, advice::Report& report, std::uint64_t number, std::int64_t shift)
    : file_(file),
      report_(report),
      number_(number),
      began_(report.trace.file.header().realtime_ns),
      shift_(shift),
      pid_(static_cast<std::int32_t>(
          std::min<std::int64_t>(std::max<std::int64_t>(1, report.trace.file.header().pid) + shift, INT_MAX))),
      texts_((1 << 20) + 8 * report.trace.file.source().size()),
      process_(track({.name = process_name(report), .pid = pid_, .command_line = arguments(report)})) {}

/// The same for the same runs, and most unlike those of any other trace that these are merged with.
std::uint64_t Run::next_uuid() {
    const reader::Header& header = report_.trace.file.header();
    return mixed(mixed(mixed(mixed(number_, header.realtime_ns), header.pid), header.first.ticks), ++uuids_) |
           1;
}

std::uint64_t Run::begin_flow(std::int64_t at) {
    if (ended_flows_.empty() || ended_flows_.top().first >= at)
        return (number_ << 40) + ++flows_;
    const std::uint64_t flow = ended_flows_.top().second;
    ended_flows_.pop();
    return flow;
}

Stack Run::make_stack(ids::StackId id) {
    Stack stack;
    for (const symbols::CodePlace& place : shown_frames(report_.symbolizer, id, report_.full_stacks))
        stack.frames.push_back(texts_.frame(place));
    stack.number = stack.frames.empty() ? 0 : id.packed();
    if (stack.number != 0)
        stack.line = texts_.frame(report_.symbolizer.line(id));
    return stack;
}

const Stack& Run::stack(ids::StackId id) {
    const auto [known, fresh] = stacks_.try_emplace(id);
    if (fresh && id.known())
        known->second = make_stack(id);
    return known->second;
}

const std::string& Run::line(ids::StackId stack) {
    const auto [known, fresh] = lines_.try_emplace(stack);
    if (fresh)
        known->second = stack.known() ? report_.symbolizer.line(stack).text() : "no stack recorded";
    return known->second;
}

} // namespace umadvisor::reports::perfetto

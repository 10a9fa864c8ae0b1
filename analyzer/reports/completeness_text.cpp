#include "analyzer/reports/completeness_text.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/recording_text.hpp"
#include "analyzer/text/figures.hpp"

#include <array>
#include <utility>

namespace umadvisor::reports {
namespace {

using text::count_text;
struct Words {
    std::string_view name, sentence;
};
constexpr std::array<Words, static_cast<std::size_t>(trace::DropReason::count_)> drop_words{
    {{"disk_full", "the disk was full"},
     {"size_cap", "the trace reached its size cap (UMADVISOR_MAX_SIZE, or UMADVISOR_RING)"},
     {"oversized", "they were too large for a chunk"},
     {"no_memory", "no memory was available, or the file was removed"}}};

} // namespace

std::string_view name(trace::DropReason reason) {
    return drop_words[static_cast<std::size_t>(reason)].name;
}

std::string completeness_summary(const reader::Trace& trace) {
    const reader::Completeness& c = trace.file.completeness();
    std::uint64_t dropped = 0;
    for (const std::uint64_t count : trace.file.header().dropped)
        dropped += count;
    std::string text;
    if (c.header_cut || c.chunks_missing + c.chunks_cut != 0)
        text = "trace cut";
    else if (c.end_lost)
        text = "trace cut: its last moments are missing";
    else if (!c.whole())
        text = "trace damaged";
    else if (!c.closed)
        text = "trace cut: the program was killed or still runs";
    else if (dropped != 0)
        text = "trace incomplete";
    else
        text = "trace complete";
    if (dropped != 0)
        text += fmt::format(", {} dropped", count_text(dropped, "record"));
    if (const auto& processes = trace.dictionary.processes; !processes.empty())
        if (const std::string_view version = processes.front().recorder; version != UMADVISOR_VERSION)
            text += version.empty() ? ", recorded by umadvisor 1.0.0 or older"
                                    : ", recorded by umadvisor " + reader::shown_name(version);
    return text;
}

std::vector<std::string> missing_lines(const reader::Trace& trace) {
    const reader::Completeness& c = trace.file.completeness();
    std::vector<std::string> lines;
    const auto& dropped = trace.file.header().dropped;
    for (std::size_t i = 0; i < dropped.size(); ++i)
        if (dropped[i] != 0)
            lines.push_back(
                fmt::format("{} dropped: {}", count_text(dropped[i], "record"), drop_words[i].sentence));
    if (c.chunks_missing != 0)
        lines.push_back(fmt::format("the file is cut: {} that stood beyond its end {} missing",
                                    count_text(c.chunks_missing, "chunk"),
                                    c.chunks_missing == 1 ? "is" : "are"));
    if (c.header_cut)
        lines.push_back(
            "the file is cut inside its header: the numbers of calls that are only counted are missing");
    if (c.end_lost)
        lines.push_back("its last moments were in memory that is gone, or that only the user who ran the "
                        "program can read, from the original trace and not from a copy");
    if (c.chunks_cut != 0)
        lines.push_back("the file ends inside " + count_text(c.chunks_cut, "chunk") +
                        "; read as far as it goes");
    if (c.chunks_damaged != 0)
        lines.push_back(count_text(c.chunks_damaged, "chunk") + " damaged; what they held is missing here");
    if (c.sequences_missing != 0)
        lines.push_back(count_text(c.sequences_missing, "chunk") + " that a thread had written lost");
    if (c.records_refused != 0)
        lines.push_back(count_text(c.records_refused, "record") +
                        " with impossible values omitted; the file is damaged or forged");
    if (c.chunks_unknown + c.records_unknown != 0)
        lines.push_back(fmt::format("{} and {} of kinds newer than this umadvisor skipped",
                                    count_text(c.chunks_unknown, "chunk"),
                                    count_text(c.records_unknown, "record")));
    return lines;
}

bool lacks_records(const reader::Trace& trace) {
    const auto dropped = [&trace](trace::DropReason reason) {
        return trace.file.header().dropped[static_cast<std::size_t>(reason)] != 0;
    };
    return !trace.file.completeness().whole() || dropped(trace::DropReason::disk_full) ||
           dropped(trace::DropReason::no_memory);
}

std::vector<std::string> completeness_lines(const reader::Trace& trace) {
    std::vector<std::string> lines = missing_lines(trace);
    if (std::string part = recording_text(trace); !part.empty())
        lines.push_back(std::move(part));
    if (const std::uint32_t cut = trace.file.header().stacks_cut; cut != 0)
        lines.push_back(count_text(cut, "call stack") +
                        " could not be unwound to the end: the program ran code without unwind information "
                        "(generated at run time?)");
    for (const trace::Interpreter& each : trace.dictionary.interpreters)
        if (!each.trouble.empty())
            lines.push_back(fmt::format(
                "no Python frames were recorded: {}: {}; stacks show the interpreter's own C code instead",
                each.implementation, each.trouble));
    if (!trace.file.completeness().closed)
        lines.push_back(std::string("the trace was never closed: the program was killed, or still runs") +
                        (trace.file.completeness().end_lost ? "" : "; every record committed before is here"));
    if (!trace.time.certain())
        lines.push_back("the rate of its clock is unknown: times are ticks, not nanoseconds");
    return lines;
}

} // namespace umadvisor::reports

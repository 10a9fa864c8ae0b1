#include "analyzer/cli/live/top_table.hpp"

#include "analyzer/reader/plain.hpp"
#include "analyzer/text/columns.hpp"
#include "analyzer/text/figures.hpp"

#include <algorithm>

namespace umadvisor::cli {
namespace {

using live::Counters, live::Rates, live::Watched;

constexpr std::size_t widest_name = 20;

std::string rate(double bytes) {
    return bytes == 0 ? "0" : text::rate_text(bytes);
}

std::string count(double number) {
    return fmt::format("{:.{}f}", number, number == 0 || number >= 10 ? 0 : 1);
}

std::string bytes(std::uint64_t number) {
    return number == 0 ? "0" : text::bytes_text(number);
}

/// What a process is about, beside its figures.
std::string state_of(const Watched& watched) {
    if (watched.awaited != 0 && live::Clock::now() - watched.asked > live::answer_time)
        return "no answer";
    return watched.status.recording ? "recording" : watched.status.mode;
}

struct Figure {
    std::string_view title; ///< of its column, and in a list of all figures
    std::string (*text)(const Rates& rates, const Counters& counters);
};

/// The most telling first: where there is no room, the last are left out.
constexpr Figure figures[] = {
    {"h2d", [](const Rates& rates, const Counters&) { return rate(rates.bytes[0]); }},
    {"d2h", [](const Rates& rates, const Counters&) { return rate(rates.bytes[1]); }},
    {"waits", [](const Rates& rates, const Counters&) { return text::percent_text(rates.wait_share); }},
    {"device mem", [](const Rates&, const Counters& counters) { return bytes(counters.device_bytes); }},
    {"managed mem", [](const Rates&, const Counters& counters) { return bytes(counters.managed_bytes); }},
    {"um to dev", [](const Rates& rates, const Counters&) { return rate(rates.to_device_bytes); }},
    {"um to host", [](const Rates& rates, const Counters&) { return rate(rates.to_host_bytes); }},
    {"faults/s", [](const Rates& rates, const Counters&) { return count(rates.faults); }},
    {"thrash/s", [](const Rates& rates, const Counters&) { return count(rates.thrashing); }},
    {"pageable",
     [](const Rates& rates, const Counters&) {
         return rates.pageable_share ? text::percent_text(*rates.pageable_share) : std::string("-");
     }},
    {"launches/s", [](const Rates& rates, const Counters&) { return count(rates.launches); }},
    {"d2d", [](const Rates& rates, const Counters&) { return rate(rates.bytes[2]); }},
    {"peer", [](const Rates& rates, const Counters&) { return rate(rates.bytes[3]); }},
    {"page-locked", [](const Rates&, const Counters& counters) { return bytes(counters.pinned_bytes); }},
    {"act/s", [](const Rates& rates, const Counters&) { return count(rates.act_actions); }},
    {"by act", [](const Rates& rates, const Counters&) { return rate(rates.act_bytes); }},
    {"refused", [](const Rates&, const Counters& counters) { return std::to_string(counters.refused); }},
};

std::string text_of(const Figure& figure, const Watched& watched) {
    return watched.rates ? figure.text(*watched.rates, *watched.counters) : std::string("-");
}

struct Column {
    std::vector<std::string> cells; ///< the title first
    bool is_word = false;
    std::size_t width() const {
        std::size_t widest = 0;
        for (const std::string& cell : cells)
            widest = std::max(widest, text::columns(cell));
        return widest;
    }
};

std::vector<Column> columns_of(const std::vector<Watched>& processes) {
    Column pid{{"pid"}}, name{{"program"}, true}, state{{"state"}, true};
    for (const Watched& watched : processes) {
        const live::Process& process = watched.process();
        pid.cells.push_back(std::to_string(process.pid != 0 ? process.pid : process.inner_pid));
        name.cells.push_back(text::cut(reader::plain(process.name), widest_name));
        state.cells.push_back(text::cut(reader::plain(state_of(watched)), widest_name));
    }
    std::vector<Column> all{std::move(pid), std::move(name), std::move(state)};
    for (const Figure& figure : figures) {
        Column& column = all.emplace_back();
        column.cells.emplace_back(figure.title);
        for (const Watched& watched : processes)
            column.cells.push_back(text_of(figure, watched));
    }
    return all;
}

} // namespace

std::vector<std::string> top_lines(const std::vector<Watched>& processes, std::size_t width) {
    std::vector<std::string> lines(processes.size() + 1);
    std::size_t used = 0;
    for (const Column& column : columns_of(processes)) {
        const std::size_t wide = column.width(), gap = used == 0 ? 0 : 2;
        if (width != 0 && used + gap + wide > width)
            break;
        used += gap + wide;
        for (std::size_t row = 0; row < lines.size(); ++row) {
            const std::string blanks(wide - text::columns(column.cells[row]), ' ');
            lines[row] += std::string(gap, ' ') +
                          (column.is_word ? column.cells[row] + blanks : blanks + column.cells[row]);
        }
    }
    return lines;
}

std::vector<std::string> top_figures(const Watched& process) {
    std::vector<std::string> all;
    for (const Figure& figure : figures)
        all.push_back(fmt::format("{} {}", figure.title, text_of(figure, process)));
    return all;
}

} // namespace umadvisor::cli

#include "analyzer/cli/live/top_view.hpp"

#include "analyzer/cli/live/top_table.hpp"
#include "analyzer/text/columns.hpp"
#include "analyzer/text/figures.hpp"

#include <algorithm>

namespace umadvisor::cli {
namespace {

std::pair<pid_t, pid_t> key_of(const live::Watched& watched) {
    return {watched.process().pid, watched.process().inner_pid};
}

/// In lines of `width` columns at most.
std::vector<std::string> filled(const std::vector<std::string>& words, std::size_t width) {
    std::vector<std::string> lines(1);
    for (const std::string& word : words) {
        if (!lines.back().empty() && text::columns(lines.back()) + 3 + text::columns(word) > width)
            lines.emplace_back();
        lines.back() += (lines.back().empty() ? "" : " | ") + word;
    }
    return lines;
}

} // namespace

std::size_t TopView::chosen_in(const live::Watch& watch) const {
    const auto& all = watch.processes();
    const auto found = std::ranges::find(all, chosen_, &key_of);
    return found == all.end() ? 0 : static_cast<std::size_t>(found - all.begin());
}

void TopView::move(const live::Watch& watch, int by) {
    const auto last = static_cast<std::ptrdiff_t>(watch.processes().size()) - 1;
    if (last >= 0)
        chosen_ = key_of(watch.processes()[static_cast<std::size_t>(
            std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(chosen_in(watch)) + by, 0, last))]);
}

void TopView::draw(Screen& screen, const live::Watch& watch) {
    screen.clear();
    const auto& all = watch.processes();
    if (all.empty()) {
        screen.write(0, "no process with a control socket: start one with umadvisor run --standby -- ./app");
    } else {
        const std::vector<std::string> lines = top_lines(all, screen.width());
        const std::size_t chosen = chosen_in(watch), shown = std::max<std::size_t>(screen.height() / 2, 3) - 1;
        const std::size_t first = chosen < shown ? 0 : chosen - shown + 1; // the chosen one is always seen
        screen.write(0, lines.front(), Emphasis::title);
        std::size_t row = 1;
        for (std::size_t i = first; i < std::min(all.size(), first + shown); ++i)
            screen.write(row++, lines[i + 1], i == chosen ? Emphasis::chosen : Emphasis::none);
        draw_below(screen, all[chosen], row + 1);
    }
    screen.write(screen.height() - 1, trouble_.empty() ? "arrow keys: choose a process   q: quit" : trouble_);
    screen.show();
}

void TopView::draw_below(Screen& screen, const live::Watched& process, std::size_t row) {
    screen.write(row++, process.process().text(), Emphasis::title);
    screen.write(row++, live::status_text(process.status));
    for (const std::string& line : filled(top_figures(process), screen.width()))
        screen.write(row++, line);
    if (const std::string kept = live::kept_text(process.status); !kept.empty())
        screen.write(row++, kept);
    if (!process.counters)
        return;
    const HeldByLine::Held& held = held_.of(process.process(), *process.counters);
    screen.write(++row, "memory in use by line", Emphasis::title);
    if (!held.trouble.empty())
        screen.write(++row, held.trouble);
    else if (!held.known)
        screen.write(++row, "(being read)");
    else if (held.lines.empty())
        screen.write(++row, "(none)");
    for (const live::HeldLine& line : held.lines)
        screen.write(++row, fmt::format("{:>10}  {:>7}  {:<10}  {}", text::bytes_text(line.bytes),
                                        line.allocations, line.memory, line.place));
}

} // namespace umadvisor::cli

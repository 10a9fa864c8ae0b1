/// The screen of `umadvisor top`.
#pragma once

#include "analyzer/cli/live/held_by_line.hpp"
#include "analyzer/cli/live/screen.hpp"
#include "analyzer/live/watch.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace umadvisor::cli {

/// Processes above; below, all figures of the chosen one and the lines that hold its memory.
class TopView {
public:
    void draw(Screen& screen, const live::Watch& watch);
    /// Chooses the process `by` places below.
    void move(const live::Watch& watch, int by);
    /// The last of these is shown in the bottom line.
    void say(std::string trouble) { trouble_ = std::move(trouble); }

private:
    std::size_t chosen_in(const live::Watch& watch) const;
    void draw_below(Screen& screen, const live::Watched& process, std::size_t row);

    std::pair<pid_t, pid_t> chosen_{}; ///< by its number: the list changes
    HeldByLine held_;
    std::string trouble_;
};

} // namespace umadvisor::cli

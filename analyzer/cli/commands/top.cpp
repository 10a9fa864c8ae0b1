#include "analyzer/cli/command.hpp"
#include "analyzer/cli/live/chosen.hpp"
#include "analyzer/cli/live/duration.hpp"
#include "analyzer/cli/live/held_by_line.hpp"
#include "analyzer/cli/live/screen.hpp"
#include "analyzer/cli/live/signals.hpp"
#include "analyzer/cli/live/top_json.hpp"
#include "analyzer/cli/live/top_table.hpp"
#include "analyzer/cli/live/top_view.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/terminal/terminal.hpp"
#include "analyzer/files/short_lived.hpp"
#include "analyzer/live/watch.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/text/json_text.hpp"

#include <iostream>
#include <thread>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

using live::Clock;

/// Reads the counters of all twice. Whether all that still run have answered.
bool sample(live::Watch& watch, std::chrono::nanoseconds interval) {
    const auto read = [&watch] {
        watch.ask();
        watch.wait(Clock::now() + live::answer_time);
        watch.drop_silent();
    };
    const Clock::time_point second = Clock::now() + interval;
    read();
    std::this_thread::sleep_until(second);
    read();
    const std::vector<std::string> troubles = watch.take_troubles();
    for (const std::string& trouble : troubles)
        say(trouble);
    return troubles.empty();
}

/// Prints all processes as one JSON document. Returns whether the memory of each could be read by line.
bool print_json(const live::Watch& watch) {
    bool whole = true;
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const live::Watched& watched : watch.processes()) {
        std::optional<std::vector<live::HeldLine>> lines;
        try {
            lines = read_held_lines(watched.process());
        } catch (const reader::Error& error) {
            say(error.what());
            whole = false;
        }
        all.push_back(top_json(watched, lines));
    }
    std::cout << text::json_text({{"processes", all}}, 2) << "\n";
    return whole;
}

int print_once(Chosen chosen, std::chrono::nanoseconds interval, const Arguments& arguments) {
    live::Watch watch(std::move(chosen.connections));
    bool whole = sample(watch, interval) && !chosen.refused;
    if (arguments.has("--json")) {
        whole = print_json(watch) && whole;
    } else {
        const std::optional<text::Terminal> shown_on = terminal({});
        for (const std::string& line : top_lines(watch.processes(), shown_on ? shown_on->width : 0))
            std::cout << line << "\n";
        for (const live::Watched& watched : watch.processes())
            if (const std::string kept = live::kept_text(watched.status); !kept.empty())
                std::cout << watched.process().text() << " " << kept << "\n";
    }
    return whole ? done : operational_error;
}

/// The signal that ended it; 0: q.
int show(Chosen chosen, std::chrono::nanoseconds interval, bool finds_new) {
    constexpr std::chrono::seconds between_searches{2};
    Signals signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    Screen screen;
    TopView view;
    live::Watch watch(std::move(chosen.connections));
    Clock::time_point next = Clock::now(), next_search = next + between_searches;
    for (;;) {
        if (Clock::now() >= next) {
            watch.ask();
            next += std::max<Clock::duration>(interval, Clock::now() - next);
        }
        if (finds_new && Clock::now() >= next_search) {
            watch.add(live::discover(watch.known()).connections);
            next_search = Clock::now() + between_searches;
        }
        for (std::string& trouble : watch.take_troubles())
            view.say(std::move(trouble));
        view.draw(screen, watch);
        // Answers come soon after they are asked for: the screen has them then, not a second later.
        watch.wait(std::min(next, Clock::now() + std::chrono::milliseconds(100)), STDIN_FILENO);
        if (const int signal = signals.take(); signal != 0)
            return signal;
        for (Key key = screen.key(); key != Key::none; key = screen.key()) {
            if (key == Key::quit)
                return 0;
            view.move(watch, key == Key::up ? -1 : key == Key::down ? 1 : 0);
        }
    }
}

int top(const Arguments& arguments) {
    const std::optional<std::uint64_t> interval =
        parse_duration(arguments.has("--interval") ? arguments.value("--interval") : "1s");
    constexpr std::uint64_t shortest = 50'000'000;
    std::string trouble;
    if (!interval || *interval < shortest)
        trouble =
            "--interval takes a duration of at least 50ms, such as 1s, not " + arguments.value("--interval");
    else if (arguments.has("--json") && !arguments.has("--once"))
        trouble = "--json goes with --once";
    if (!trouble.empty()) {
        say(trouble);
        return usage_error;
    }
    const bool all = arguments.rest.empty();
    const std::chrono::nanoseconds between(*interval);
    if (arguments.has("--once"))
        return print_once(all ? choose_all() : choose_each(arguments.rest), between, arguments);
    const int signal = show(all ? choose_all() : choose_each(arguments.rest), between, all);
    if (signal != 0)
        files::end_by(signal);
    return done;
}

} // namespace

const Command top_command{"top",
                          "Show what running processes move and wait for, each second, and the lines that hold "
                          "their memory",
                          "PROCESS",
                          0,
                          1 << 10,
                          {{"--interval", "DURATION", "Time between two readings; default: 1s"},
                           {"--json", "", "With --once: one document of all processes, with lines"},
                           {"--once", "", "Read twice, print a table, and end"}},
                          &top};

} // namespace umadvisor::cli

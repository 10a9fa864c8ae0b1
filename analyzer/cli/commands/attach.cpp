#include "analyzer/cli/command.hpp"
#include "analyzer/cli/live/attach_recording.hpp"
#include "analyzer/cli/live/chosen.hpp"
#include "analyzer/cli/live/duration.hpp"
#include "analyzer/cli/live/group.hpp"
#include "analyzer/cli/live/output_names.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/live/answer.hpp"
#include "analyzer/live/status.hpp"
#include "analyzer/text/json_text.hpp"

#include <algorithm>
#include <iostream>
#include <span>

namespace umadvisor::cli {
namespace {

using live::Connection, live::Process, live::Request;

/// The process and the words of the command line behind it.
struct Asked {
    std::string who;                ///< empty: all
    std::string word;               ///< start, stop, ...; empty: record until Ctrl-C, then report
    std::vector<std::string> words; ///< behind it
};

Asked asked(const Arguments& arguments) {
    std::span<const std::string> rest(arguments.rest);
    Asked made;
    if (!arguments.has("--all") && !rest.empty()) {
        made.who = rest.front();
        rest = rest.subspan(1);
    }
    if (!rest.empty()) {
        made.word = rest.front();
        made.words.assign(rest.begin() + 1, rest.end());
    }
    return made;
}

/// Returns why the command line cannot be carried out, as a message; empty where it can.
std::string usage_trouble(const Arguments& arguments, const Asked& asked) {
    if (asked.who.empty() && !arguments.has("--all"))
        return "no process given: umadvisor attach PID|NAME, or --all";
    constexpr std::string_view words[] = {"", "start", "stop", "status", "mark", "snapshot", "act"};
    if (std::ranges::find(words, asked.word) == std::end(words))
        return fmt::format("attach takes start, stop, status, mark, snapshot or act after the process, not {}",
                           asked.word);
    const bool records = asked.word.empty() || asked.word == "start";
    if (arguments.has("--for") && !records)
        return "--for goes with start, or with no word";
    if (arguments.has("--for") && !parse_duration(arguments.value("--for")))
        return "--for takes a duration such as 30s, 500ms or 2min, not " + arguments.value("--for");
    if (arguments.has("--output") && !records && asked.word != "snapshot")
        return "-o goes with start, snapshot, or no word";
    if (arguments.has("--output") && arguments.value("--output").empty())
        return "-o takes the name of a file";
    if (arguments.has("--json") && asked.word != "status")
        return "--json goes with status";
    if (asked.word == "mark")
        return asked.words.empty() ? "mark takes a text" : "";
    if (asked.word == "act")
        return asked.words.size() == 2 && (asked.words[0] == "on" || asked.words[0] == "off")
                   ? ""
                   : "act takes on or off and a mode: umadvisor attach PID act on prefetch";
    return asked.words.empty() ? "" : fmt::format("unexpected {} after {}", asked.words.front(), asked.word);
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

int status_of(std::size_t failed, const Chosen& chosen) {
    return failed != 0 || chosen.refused ? operational_error : done;
}

int print_status(Chosen& chosen, bool as_json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    const std::size_t failed = ask_all(
        chosen.connections, [](const Process&) { return Request("status"); },
        [&](Connection& connection, const nlohmann::json& answer) {
            if (!as_json) {
                std::cout << connection.process().text() << ": " << live::status_text(live::read_status(answer))
                          << "\n";
                return;
            }
            nlohmann::ordered_json& one = all.emplace_back(nlohmann::ordered_json::object());
            one["pid"] = connection.process().pid;
            for (const auto& [key, value] : answer.items())
                if (key != "ok" && key != "pid")
                    one[key] = value;
        });
    if (as_json)
        std::cout << text::json_text({{"processes", all}}, 2) << "\n";
    return status_of(failed, chosen);
}

/// Asks and prints one line for each process: what was done, and the file of it, if any.
int ask_and_print(Chosen& chosen, const std::string& done_text,
                  const std::function<Request(const Process&)>& made) {
    const std::size_t failed =
        ask_all(chosen.connections, made, [&](Connection& connection, const nlohmann::json& answer) {
            const std::string file = live::text_of(answer, "file");
            std::cout << connection.process().text() << ": " << done_text
                      << (file.empty() ? "" : " " + reached_trace(connection.process(), file)) << "\n";
        });
    return status_of(failed, chosen);
}

int attach(const Arguments& arguments) {
    const Asked what = asked(arguments);
    if (const std::string trouble = usage_trouble(arguments, what); !trouble.empty()) {
        say(trouble);
        return usage_error;
    }
    Chosen chosen = what.who.empty() ? choose_all() : choose_one(what.who);
    const OutputNames outputs(arguments.value("--output"), chosen.connections.size());
    const std::optional<std::uint64_t> duration = parse_duration(arguments.value("--for"));
    if (what.word.empty())
        return record_and_report(std::move(chosen), outputs, duration);
    if (what.word == "status")
        return print_status(chosen, arguments.has("--json"));
    if (what.word == "start")
        return ask_and_print(chosen, "records to", [&](const Process& process) {
            Request request = outputs.add_to(Request("start"), process);
            return duration ? request.with("for", std::to_string(*duration)) : request;
        });
    if (what.word == "stop")
        return ask_and_print(chosen, "recorded", [](const Process&) { return Request("stop"); });
    if (what.word == "snapshot")
        return ask_and_print(chosen, "wrote", [&](const Process& process) {
            return outputs.add_to(Request("snapshot"), process);
        });
    if (what.word == "mark")
        return ask_and_print(chosen, "marked", [text = joined(what.words)](const Process&) {
            return Request("mark").with("text", text);
        });
    return ask_and_print(chosen, fmt::format("{} is {}", what.words[1], what.words[0]), [&](const Process&) {
        return Request("act").with("mode", what.words[1]).with("on", what.words[0] == "on" ? "1" : "0");
    });
}

} // namespace

const Command attach_command{
    "attach",
    "Record a running process, or change what it records: umadvisor attach PID|NAME [start|stop|status|mark "
    "TEXT|snapshot|act on|off MODE]; without a word record until Ctrl-C, then report",
    "PROCESS",
    0,
    1 << 10,
    {{"--all", "", "All of your processes that have a control socket"},
     {"--for", "DURATION", "Record for 30s, 500ms, 2min, ...; default: until Ctrl-C or stop"},
     {"--json", "", "With status: one document of all processes"},
     {"-o,--output", "FILE",
      "Trace file; of several processes each adds its PID before the suffix. Default: PROGRAM.PID.umtrace in "
      "the process's working directory"}},
    &attach};

} // namespace umadvisor::cli

/// Text that others wrote never reaches a terminal as more than characters, nor a line of text as more than a
/// part of it: every text field of every record, names of files, what a baseline holds, what the command line
/// repeats.
#include "analyzer/reader/chunk_walk.hpp"
#include "analyzer/reader/trace_file.hpp"
#include "command_run.hpp"
#include "every_record.hpp"
#include "managed_program.hpp"
#include "perfetto_trace.hpp"
#include "trace/plain_text.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

BOOST_AUTO_TEST_SUITE(analyzer_hostile_text)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;

namespace {

/// A title for the window, a line of its own, a cleared screen as one character and as one byte, text that runs
/// from right to left, a separator of lines, a deleted character, a style of ours.
constexpr std::string_view hostile = "\033]0;owned\a\nFORGED line\r\nFORGED too\tx\xc2\x9b"
                                     "2J\x9b"
                                     "2J\xe2\x80\xae\xe2\x80\xa8\x7f\001"
                                     "1 \xd8\x9c";

/// Puts hostile text behind each text of a record; the id of a build and lines of code are no text.
struct Infection {
    bool symbols; ///< also where names are understood: entry points, kernels
    std::deque<std::string>& kept;

    template <class T>
    void number(std::string_view, T&) {}
    void time(std::string_view, std::uint64_t&) {}
    void address(std::string_view, std::uint64_t&) {}
    void handle(std::string_view, auto&) {}
    void text(std::string_view key, std::string_view& value) {
        if ((key == "symbol" && !symbols) || key == "build_id" || key == "lines")
            return;
        value = kept.emplace_back(std::string(value) + std::string(hostile));
    }
    void numbers(std::string_view, auto&) {}
};

/// The same trace with hostile text in all its texts. Events have none: their chunks are taken as they are.
std::string infected(const std::string& path, bool symbols, const std::string& name) {
    reader::TraceFile file(path);
    TraceBuilder builder;
    builder.last = file.header().last;
    builder.counters[900] = 3;
    std::deque<std::string> kept;
    Infection infection{symbols, kept};
    reader::for_each_definition(file, [&](auto record) {
        std::decay_t<decltype(record)>::fields(record, infection);
        builder.add(record);
        builder.next_dictionary_chunk();
    });
    std::vector<std::uint8_t> bytes;
    for (const reader::ChunkInfo& chunk : file.chunks())
        if (chunk.kind == trace::ChunkKind::event && file.load(chunk, bytes)) {
            builder.add_raw(bytes, chunk.thread);
            builder.next_chunk(chunk.thread);
        }
    return temporary_file(name, builder.bytes());
}

/// Findings on lines, tables with rows, kernels, managed memory, something that was acted on.
std::string busy_program() {
    test::managed_program::Program p;
    p.bounce(6);
    p.builder.add(
        trace::Module{.id = 900, .first = 0x500000, .last = 0x600000, .path = "/nowhere/libplugin.so"});
    p.builder.frame(901, 0, 0x500123, 900);
    p.builder.python_code(902, "/nowhere/train.py", "step").python_frame(903, 0, 902);
    p.builder.frame(904, 901, 0, 0, 903);
    for (const std::uint64_t stack : {901, 904})
        for (int i = 0; i < 3; ++i)
            p.copy(64 * mib, 20 * ms, {.stack = stack});
    p.builder.add(trace::Notice{.text = "refused"});
    p.builder.add(trace::Interpreter{.implementation = "CPython 9", .trouble = "unknown"});
    trace::UnknownLookup lookup{.symbol = "cuNewer"};
    p.builder.add(lookup);
    lookup.object = "/nowhere/bound.so";
    p.builder.add(lookup);
    return p.path();
}

/// Nothing but characters, line feeds and, in text, tabs; and no line that a name has begun.
void check_harmless(std::string_view text, const std::string& what) {
    for (std::size_t at = 0; at < text.size();) {
        const trace::CodePoint point = trace::code_point(text.substr(at));
        const bool good =
            point.bytes != 0 && (!trace::is_control(point.code) || point.code == '\n' || point.code == '\t');
        if (!good) {
            const std::string_view around = text.substr(at < 80 ? 0 : at - 80, 160);
            BOOST_TEST(good,
                       what << " lets byte " << static_cast<int>(static_cast<unsigned char>(text[at]))
                            << " through: "
                            << json(std::string(around)).dump(-1, ' ', true, json::error_handler_t::replace));
            return;
        }
        at += point.bytes;
    }
    const std::size_t forged = text.starts_with("FORGED") ? 0 : text.find("\nFORGED");
    if (forged != std::string_view::npos)
        BOOST_TEST(text.substr(forged < 200 ? 0 : forged - 200, 300) == "", what << " has a forged line");
}

void check_harmless(const Result& result, const std::string& what) {
    check_harmless(result.out, what + " (output)");
    check_harmless(result.err, what + " (errors)");
}

std::string joined(const std::vector<std::string>& arguments) {
    std::string line;
    for (const std::string& argument : arguments)
        line += argument + " ";
    return line;
}

/// All texts of a database, a line each.
std::string texts_of_database(const std::string& path) {
    sqlite3* database = nullptr;
    BOOST_TEST_REQUIRE(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
    const auto add_row = [](void* to, int columns, char** values, char**) {
        for (int column = 0; column < columns; ++column)
            if (values[column] != nullptr)
                *static_cast<std::string*>(to) += std::string("x") + values[column] + "\n";
        return 0;
    };
    std::string texts;
    for (const std::string table : {"runs", "devices", "ranks", "threads", "entries", "functions", "stacks",
                                    "copies", "allocations", "moves", "faults", "findings"})
        BOOST_TEST(sqlite3_exec(database, ("SELECT * FROM " + table).c_str(), add_row, &texts, nullptr) ==
                   SQLITE_OK);
    sqlite3_close(database);
    return texts;
}

std::string texts_of_timeline(const std::string& path) {
    std::string texts;
    for (const PerfettoTrack& track : PerfettoTrace(path).tracks) {
        texts += "x" + track.name + "\n";
        for (const PerfettoEvent& event : track.events) {
            for (const std::string& text : {event.name, event.category, event.location})
                texts += "x" + text + "\n";
            for (const std::string& frame : event.frames)
                texts += "x" + frame + "\n";
            for (const auto& [name, value] : event.arguments)
                texts += "x" + name + value + "\n";
        }
    }
    return texts;
}

/// A colour that was asked for comes from us.
std::string without_styles(std::string text) {
    for (const std::string style : {"\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[36m"})
        for (std::size_t at = 0; (at = text.find(style, at)) != std::string::npos;)
            text.erase(at, style.size());
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(hostile_text_in_every_field_of_every_record) {
    const std::string all = temporary_file("all.umtrace", every_record().bytes());
    const std::string busy = busy_program();
    const std::vector<std::string> traces{
        infected(all, false, "all-texts.umtrace"), infected(all, true, "all-symbols.umtrace"),
        infected(busy, false, "busy" + std::string(hostile.substr(0, 40)) + ".umtrace"),
        infected(busy, true, "busy-symbols.umtrace")};
    for (const std::string& path : traces) {
        for (std::vector<std::string> command : readers) {
            command.push_back(path);
            const Result result = run(command);
            check_harmless(result, joined(command));
            if (std::ranges::find(command, "--json") != command.end() && command.front() != "dump")
                BOOST_TEST(json::accept(result.out), joined(command));
        }
        for (std::vector<std::string> command : {std::vector<std::string>{"diff"}, {"diff", "--json"}}) {
            command.insert(command.end(), {path, traces.front()});
            check_harmless(run(command), joined(command));
        }
        for (const char* const command : {"report", "stats", "tree"}) {
            Result result = run({command, "--color", "always", path});
            result.out = without_styles(result.out);
            check_harmless(result, std::string(command) + " in colour");
        }
        const Result report = run({"report", "--json", path});
        const std::string baseline = path + ".json", nothing = path + ".empty.json";
        std::ofstream(baseline) << report.out;
        json empty = json::parse(report.out);
        empty["findings"] = json::array();
        std::ofstream(nothing) << empty.dump();
        check_harmless(run({"check", "--baseline", nothing, path}), "check");
        check_harmless(run({"check", "--baseline", path, nothing}), "check of what went");
        check_harmless(run({"check", "--baseline", baseline, path}), "check of the same");
        check_harmless(run({"diff", nothing, baseline}), "diff of reports");
        check_harmless(run({"diff", "--json", nothing, baseline}), "diff of reports as JSON");
    }
    const std::string exported = temporary_path("exported");
    for (const std::string& path : traces) {
        check_harmless(run({"export", "--perfetto", "-f", "-o", exported, path}), "a timeline");
        const std::string timeline = texts_of_timeline(exported);
        check_harmless(timeline, "a timeline");
        BOOST_TEST(contains(timeline, "]0;owned"));
        check_harmless(run({"export", "--sqlite", "-f", "-o", exported, path}), "a database");
        const std::string database = texts_of_database(exported);
        check_harmless(database, "a database");
        BOOST_TEST(contains(database, "]0;owned"));
    }
    // It was all there: a hostile device is the device, in each of these.
    for (const char* const command : {"report", "stats"})
        BOOST_TEST(run({command, traces[2]}).out.find("]0;owned") != std::string::npos, command);
    BOOST_TEST(run({"report", traces[2]}).out.find("libplugin.so?]0;owned") != std::string::npos);
}

/// A report that nobody checked: what another program wrote as JSON.
BOOST_AUTO_TEST_CASE(hostile_text_in_a_baseline) {
    const std::string text(hostile.substr(0, hostile.find("\x9b")));
    const auto report = [&](const json& findings) {
        return json{{"schema", "umadvisor-report-2"}, {"findings", findings}}.dump(
            -1, ' ', false, json::error_handler_t::replace);
    };
    const json place{{"text", text}, {"function", text}, {"file", text}, {"line", 1}, {"module", text}};
    const json finding{{"rule", "UMA-999" + text}, {"name", text},      {"title", text},
                       {"advice", text},           {"line", place},     {"allocation", {{"line", place}}},
                       {"saving_ns", 5e6},         {"saving_bytes", 1}, {"confidence", "high"}};
    const std::string one = temporary_path("one" + text.substr(0, 30) + ".json"),
                      none = temporary_path("none.json");
    std::ofstream(one) << report(json::array({finding}));
    std::ofstream(none) << report(json::array());
    for (const auto& [before, after] : {std::pair(one, none), std::pair(none, one)}) {
        check_harmless(run({"check", "--baseline", before, after}), "check");
        check_harmless(run({"diff", before, after}), "diff");
        check_harmless(run({"diff", "--json", before, after}), "diff --json");
    }
    const Result result = run({"check", "--baseline", none, one});
    BOOST_TEST(result.status == 3);
    BOOST_TEST(contains(result.out, "]0;owned"));
    std::ofstream(one) << R"({"schema":"umadvisor-report-2","findings":[{"rule":1}]})";
    check_harmless(run({"check", "--baseline", one, none}), "check of what is no report");
}

/// Errors repeat what they are about.
BOOST_AUTO_TEST_CASE(hostile_text_on_the_command_line) {
    const std::string text(hostile);
    const std::string trace = temporary_file("all.umtrace", every_record().bytes());
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{text},
                                               {"--" + text},
                                               {"report", "--" + text},
                                               {"report", text},
                                               {"report", "--color", text, trace},
                                               {"report", "--only", text, trace},
                                               {"report", "--suppressions", text, trace},
                                               {"report", "--machine", text, trace},
                                               {"report", "--fail-on", text, trace},
                                               {"report", "--jobs", text, trace},
                                               {"report", "--debug-dir", text, trace},
                                               {"report", "--sysroot", text, trace},
                                               {"stats", "--format", text, trace},
                                               {"stats", "--table", text, trace},
                                               {"tree", "--by", text, trace},
                                               {"tree", "--width", text, trace},
                                               {"flame", "--format", text, trace},
                                               {"flame", "-o", "/nowhere/" + text, trace},
                                               {"plan", "-o", "/nowhere/" + text, trace},
                                               {"whatif", "--gpu-memory", text, trace},
                                               {"whatif", "--link", text, trace},
                                               {"whatif", "--act", text, trace},
                                               {"check", "--baseline", text, trace},
                                               {"check", trace},
                                               {"diff", text, trace},
                                               {"dump", text},
                                               {"explain", text},
                                               {"help", text},
                                               {"calibrate", "--device", text},
                                               {"run", "--act", text, "--", "true"},
                                               {"run", "-o", "/nowhere/" + text, "--", "true"},
                                               {"run", "--", text},
                                               {"run", "--" + text},
                                               {"run", text, "--", "true"},
                                               {"ab", "--compare", text, "--", text},
                                               {"ab", "--before", text, "--after", text},
                                               {"prove", text, "--", text},
                                               {"prove", text, "--source-root", text, "--", "true"}}) {
        const Result result = run(command);
        BOOST_TEST(result.status != 0, joined(command));
        check_harmless(result, joined(command));
        BOOST_TEST(std::ranges::count(result.err, '\n') == 1, joined(command) << result.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()

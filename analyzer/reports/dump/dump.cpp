#include "analyzer/reports/dump/dump.hpp"

#include "analyzer/facts/contexts.hpp"
#include "analyzer/reader/chunk_walk.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/completeness_text.hpp"
#include "analyzer/reports/dump/dump_words.hpp"
#include "analyzer/symbols/demangle.hpp"
#include "analyzer/symbols/python_stack.hpp"
#include "analyzer/tables/launches.hpp"
#include "analyzer/text/json_text.hpp"
#include "analyzer/text/shell_word.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <type_traits>
#include <unordered_map>
#include <variant>

namespace umadvisor::reports {
namespace {

using Json = nlohmann::ordered_json;

std::string hexadecimal(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    for (const unsigned char byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        text += digits;
    }
    return text;
}

/// Numbers that are addresses or handles; records of version 1.1 have all of theirs as numbers.
bool is_address(std::string_view key) {
    static constexpr auto keys = std::to_array<std::string_view>(
        {"handle", "first", "last", "bias", "address", "context", "green", "pool", "stream", "event", "key",
         "function_address", "external", "graph", "exec", "source", "destination"});
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Names of functions, demangled, and of entry points, as lines repeat them that are not their definitions. In
/// all they have a bound: 80 KB of calls with one name of 1 KB made 9 MB of text.
class RepeatedNames {
public:
    explicit RepeatedNames(const reader::Trace& trace)
        : dictionary_(trace.dictionary), room_(8 * trace.file.source().size()) {}

    std::string entry(std::uint64_t id) { return bounded(dictionary_.symbol(id)); }
    std::string function(std::uint64_t id) {
        const auto [name, fresh] = functions_.try_emplace(id);
        if (fresh) // demangled once
            name->second = symbols::demangle(dictionary_.function_symbol(id));
        return bounded(name->second);
    }

private:
    std::string bounded(std::string_view name) {
        constexpr std::size_t always = 64; ///< bytes that each line may have
        if (name.size() <= always)
            return std::string(name);
        std::string shown = reader::shown_name(name);
        if (shown.size() > room_)
            return reader::shown_name(name, always);
        room_ -= shown.size();
        return shown;
    }

    const reader::Dictionary& dictionary_;
    std::uint64_t room_; ///< bytes that longer ones may still take
    std::unordered_map<std::uint64_t, std::string> functions_;
};

Json numbers_of(const auto& list) {
    Json numbers = Json::array();
    for (const auto each : list)
        numbers.push_back(static_cast<std::uint64_t>(each));
    return numbers;
}

/// Turns a record's fields into JSON; what needs a word more than its number gets it here.
struct FieldWriter {
    Json& out;
    const reader::Trace& trace;
    RepeatedNames& names;
    bool definition; ///< its `id`s are its own; in events numbers refer to definitions

    template <class T>
    void number(std::string_view key, const T& value) {
        if constexpr (trace::is_id<T>)
            number(key, trace::number(value));
        else if constexpr (trace::is_enumeration<T>)
            out[key] = enumerator(value);
        else if (key == "start")
            out["start_ns"] = trace.time.at(value);
        else if (key == "duration" || key == "look_duration" || key == "wait_duration")
            out[std::string(key) + "_ns"] = trace.time.length(value);
        else if (key == "loaded" || key == "time" || key == "copy")
            out[std::string(key) + "_ns"] = trace.time.at(value);
        else if (key == "entry" && !definition)
            out[key] = names.entry(value);
        else if (is_address(key))
            out[key] = hexadecimal(value);
        else
            out[key] = value;
    }
    void time(std::string_view, const std::uint64_t& value) { out["start_ns"] = trace.time.at(value); }
    void address(std::string_view key, const std::uint64_t& value) { out[key] = hexadecimal(value); }
    void handle(std::string_view key, const auto& value) {
        out[key] = hexadecimal(static_cast<std::uint64_t>(value));
    }
    void text(std::string_view key, const std::string_view& value) {
        out[key] = key == "build_id" || key == "lines" ? hexadecimal(value)
                   : key == "command_line"             ? text::shell_words(value)
                                                       : std::string(value);
    }
    void numbers(std::string_view key, const auto& value) { out[key] = numbers_of(value); }

    template <class T>
    static Json enumerator(T value) {
        static constexpr auto words = words_of<T>;
        const auto index = static_cast<std::size_t>(value);
        return index < words.size() ? Json(words[index]) : Json(index); // newer than this reader: its number
    }
};

template <class Record>
Json to_json(const Record& record, const reader::Trace& trace, RepeatedNames& names) {
    Json object;
    object["record"] = Record::name;
    FieldWriter writer{object, trace, names, reader::is_definition(Record::type)};
    Record::fields(record, writer);
    return object;
}

/// What is said of a launch: its own fields, and those of its shape, so that a line stands for itself.
void add_shape(Json& object, const reader::Shape& shape, RepeatedNames& names) {
    object["entry"] = names.entry(shape.entry);
    object["function"] = names.function(shape.function);
    object["function_id"] = shape.function;
    object["stream"] = hexadecimal(number(shape.stream));
    object["stack"] = shape.stack.packed();
    object["grid"] = shape.grid;
    object["block"] = shape.block;
    object["shared_bytes"] = shape.shared_bytes;
    object["scanned"] = shape.scanned;
    object["captured"] = shape.captured;
    object["touched"] = numbers_of(shape.touched);
    object["untold"] = shape.untold;
    object["host_ranges"] = shape.host_ranges;
}

Json to_json(const reader::DroppedCalls& site, const reader::Trace& trace, RepeatedNames& names) {
    return {{"record", "Dropped"},
            {"entry", site.known ? Json(names.entry(site.entry)) : Json()},
            {"function", names.function(site.function)},
            {"function_id", site.function},
            {"stack", site.stack.number()},
            {"count", site.calls},
            {"failed", site.failed},
            {"bytes", site.bytes},
            {"duration_ns", trace.time.length(site.ticks)}};
}

Json header_json(const reader::Trace& trace) {
    const reader::Header& header = trace.file.header();
    constexpr std::string_view clocks[] = {"unknown", "monotonic", "tsc", "simulated"};
    const auto clock = static_cast<std::size_t>(header.clock);
    Json object;
    object["record"] = "Header";
    object["version"] = std::to_string(header.major) + "." + std::to_string(header.minor);
    object["pid"] = header.pid;
    object["clock"] = clock < std::size(clocks) ? clocks[clock] : clocks[0];
    object["closed"] = header.closed;
    object["realtime_ns"] = header.realtime_ns;
    object["duration_ns"] =
        header.last.ticks > header.first.ticks ? trace.time.length(header.last.ticks - header.first.ticks) : 0;
    object["dropped"] = header.dropped;
    object["own_ns"] = trace.time.length(header.own_ticks);
    if (header.stacks_cut != 0)
        object["stacks_cut"] = header.stacks_cut;
    return object;
}

/// Where work in a stream ran, where the trace shows it.
void add_place(Json& object, const facts::Contexts::Place& place) {
    if (place.context == 0)
        return;
    object["context"] = hexadecimal(place.context);
    object["device"] = place.device;
}

/// Calls `line(object)` for the header, the definitions and the events.
template <class Line>
void for_each_line(reader::Trace& trace, Line&& line) {
    RepeatedNames names(trace);
    symbols::PythonLines lines(trace.dictionary);
    line(header_json(trace));
    // The dictionary was read when the trace was opened, and its losses counted then.
    const reader::Completeness before = trace.file.completeness();
    reader::for_each_definition(trace.file, [&](const auto& record) {
        Json object = to_json(record, trace, names);
        if constexpr (std::is_same_v<std::decay_t<decltype(record)>, trace::PythonFrame>)
            object["line"] = lines.of(record).line;
        line(object);
    });
    trace.file.completeness() = before;
    const auto& counters = trace.file.header().counters;
    for (std::size_t id = 0; id < counters.size(); ++id)
        if (counters[id] != 0)
            line(Json{{"record", "Counter"}, {"entry", trace.dictionary.symbol(id)}, {"count", counters[id]}});
    for (const reader::DroppedCalls& site : trace.dropped_calls)
        line(to_json(site, trace, names));

    facts::Contexts contexts;
    reader::EventStream events(trace.file, trace.choice());
    while (const reader::ThreadCursor* cursor = events.next()) {
        std::visit(
            [&](const auto& record) {
                using Record = std::decay_t<decltype(record)>;
                if constexpr (requires { contexts.add(record, cursor->thread()); })
                    contexts.add(record, cursor->thread());
                if (!events.inside())
                    return;
                Json object = to_json(record, trace, names);
                object["thread"] = cursor->thread();
                if (cursor->shape() != nullptr) {
                    add_shape(object, *cursor->shape(), names);
                    add_place(object, contexts.of(cursor->thread(), cursor->shape()->stream));
                }
                if constexpr (std::is_same_v<Record, trace::Launch>)
                    if (record.duration == 0)
                        object["duration_ns"] = nullptr; // not measured
                if constexpr (std::is_same_v<Record, trace::Copy> || std::is_same_v<Record, trace::Set>)
                    add_place(object, contexts.of(cursor->thread(), record.stream));
                line(object);
            },
            cursor->event());
    }
}

/// A value for the text dump: strings without quotes, and nothing that would upset a terminal or begin a line.
std::string plain_text(const Json& value) {
    return reader::plain(value.is_string() ? value.get<std::string>() : text::json_text(value, -1));
}

} // namespace

void write_json_dump(reader::Trace& trace, std::ostream& out) {
    for_each_line(trace, [&](const Json& object) { out << text::json_text(object, -1) << '\n'; });
}

void write_text_dump(reader::Trace& trace, std::ostream& out) {
    for_each_line(trace, [&](const Json& object) {
        const auto start = object.find("start_ns");
        char time[32] = "                ";
        if (start != object.end())
            std::snprintf(time, sizeof time, "%16.3f", start->get<double>() / 1000.0);
        out << time << " us  " << object["record"].get_ref<const std::string&>();
        for (const auto& [key, value] : object.items()) {
            if (key == "record" || key == "start_ns")
                continue;
            out << "  " << key << '=' << plain_text(value);
        }
        out << '\n';
    });
}

} // namespace umadvisor::reports

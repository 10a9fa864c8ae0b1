#include "analyzer/reader/chunk_walk.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/reports/dump/dump.hpp"
#include "every_record.hpp"
#include "scenario.hpp"

#include <boost/core/demangle.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <variant>

BOOST_AUTO_TEST_SUITE(analyzer_dump)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;

namespace {

std::vector<json> dump(const std::string& path) {
    reader::Trace trace(path);
    std::ostringstream out;
    reports::write_json_dump(trace, out);
    std::vector<json> lines;
    std::istringstream in(out.str());
    for (std::string line; std::getline(in, line);)
        lines.push_back(json::parse(line));
    return lines;
}

/// Writes a record's fields as one text, to compare what was written with what is read.
struct FieldPrinter {
    std::string text;
    template <class T>
    void number(std::string_view key, const T& value) {
        text += std::string(key) + "=" + std::to_string(static_cast<std::uint64_t>(value)) + " ";
    }
    void time(std::string_view key, const std::uint64_t& value) { number(key, value); }
    void address(std::string_view key, const std::uint64_t& value) { number(key, value); }
    void handle(std::string_view key, const auto& value) { number(key, value); }
    void text_field(std::string_view key, std::string_view value) {
        text += std::string(key) + "=" + std::string(value) + " ";
    }
    void numbers(std::string_view key, const auto& value) {
        for (const auto number : value)
            this->number(key, number);
    }
};

struct Printer : FieldPrinter {
    void text(std::string_view key, const std::string_view& value) { text_field(key, value); }
};

template <class Record>
std::string print(const Record& record) {
    Printer printer;
    Record::fields(record, printer);
    return printer.FieldPrinter::text;
}

/// Checks that a line of the dump has every field of its record.
struct KeyCheck {
    const json& line;
    void check(std::string key) { BOOST_TEST(line.contains(key), line.dump() << " lacks " << key); }
    template <class T>
    void number(std::string_view key, const T&) {
        check(key == "start"                                      ? "start_ns"
              : key == "duration"                                 ? "duration_ns"
              : key == "look_duration"                            ? "look_duration_ns"
              : key == "wait_duration"                            ? "wait_duration_ns"
              : key == "loaded" || key == "time" || key == "copy" ? std::string(key) + "_ns"
                                                                  : std::string(key));
    }
    void time(std::string_view, const std::uint64_t&) { check("start_ns"); }
    void address(std::string_view key, const std::uint64_t&) { check(std::string(key)); }
    void handle(std::string_view key, const auto&) { check(std::string(key)); }
    void text(std::string_view key, const std::string_view&) { check(std::string(key)); }
    void numbers(std::string_view key, const auto&) { check(std::string(key)); }
};

} // namespace

BOOST_AUTO_TEST_CASE(every_record_type_reads_back_as_written) {
    const std::string path = temporary_path("every");
    every_record().write(path);
    std::map<std::string_view, std::string> read;
    reader::TraceFile file(path);
    reader::for_each_definition(
        file, [&]<class Record>(const Record& record) { read[Record::name] = print(record); });
    reader::EventStream events(file);
    while (const reader::ThreadCursor* cursor = events.next())
        if (cursor->thread() == 1)
            std::visit([&]<class Record>(const Record& record) { read[Record::name] = print(record); },
                       cursor->event());

    FieldFiller filler{1};
    int types = 0;
    for_each_record_type([&]<class Record>() {
        Record record;
        Record::fields(record, filler);
        if constexpr (std::is_same_v<Record, trace::Launch>)
            record.shape = 1;
        BOOST_TEST(read[Record::name] == print(record));
        ++types;
    });
    BOOST_TEST(types == 58);
    BOOST_TEST(read.size() == static_cast<std::size_t>(types));
}

BOOST_AUTO_TEST_CASE(every_record_type_is_dumped_with_all_its_fields) {
    const std::string path = temporary_path("every");
    every_record().write(path);
    std::map<std::string, json> by_name;
    for (const json& line : dump(path))
        by_name.emplace(line.at("record").get<std::string>(), line);
    for_each_record_type([&]<class Record>() {
        const std::string name(Record::name);
        BOOST_REQUIRE_MESSAGE(by_name.contains(name), name);
        KeyCheck check{by_name[name]};
        const Record record;
        Record::fields(record, check);
    });
    BOOST_TEST(by_name["Module"]["build_id"] == "01fe0080");
    BOOST_TEST(by_name["Counter"]["count"] == 3);
    BOOST_TEST(by_name["Header"]["pid"] == 4242);
}

BOOST_FIXTURE_TEST_CASE(a_launch_line_stands_for_itself, Scenario) {
    const auto kernel = function("_Z5scalePfi");
    const auto a = allocate(4096, trace::Memory::device), b = allocate(4096, trace::Memory::managed);
    launch(kernel, {a, b});
    for (const json& line : dump(path())) {
        if (line["record"] != "Launch")
            continue;
        BOOST_TEST(line["function"] == "scale(float*, int)");
        BOOST_TEST(line["entry"] == "cuLaunchKernel");
        BOOST_TEST(line["stream"] == "0x0");
        BOOST_TEST(line["touched"] == json::array({a, b}));
        BOOST_TEST(line["duration_ns"] == 2400);
        BOOST_TEST(line["thread"] == 1);
        return;
    }
    BOOST_FAIL("no launch");
}

BOOST_FIXTURE_TEST_CASE(names_that_are_no_utf8_stay_valid_json, Scenario) {
    function("kernel\xff\xfe\"\n");
    BOOST_TEST(dump(path()).size() > 1u);
}

BOOST_AUTO_TEST_CASE(text_dump_has_one_line_a_record) {
    const std::string path = temporary_path("every");
    every_record().write(path);
    reader::Trace trace(path);
    std::ostringstream text, lines;
    reports::write_text_dump(trace, text);
    reports::write_json_dump(trace, lines);
    const std::string a = text.str(), b = lines.str();
    BOOST_TEST(std::count(a.begin(), a.end(), '\n') == std::count(b.begin(), b.end(), '\n'));
}

namespace {

/// The enumerators of trace/values.hpp and act.def by type, in the order of their numbers; those in between are
/// empty.
std::map<std::string, std::vector<std::string>> enumerations() {
    std::ifstream file(UMADVISOR_VALUES);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::map<std::string, std::vector<std::string>> all;
    const std::regex type("enum class (\\w+) : std::uint8_t \\{([^}]*)\\}"), value("(\\w+) = (\\d+)");
    for (std::sregex_iterator each(text.begin(), text.end(), type), end; each != end; ++each) {
        std::vector<std::string>& names = all[(*each)[1]];
        const std::string body = std::regex_replace((*each)[2].str(), std::regex("//[^\\n]*"), "");
        for (std::sregex_iterator one(body.begin(), body.end(), value); one != end; ++one) {
            const std::size_t number = std::stoul((*one)[2]);
            names.resize(std::max(names.size(), number + 1));
            names[number] = (*one)[1];
        }
    }
#define REASON(number, name, action) all["Reason"].emplace_back(#name);
#include "trace/act.def"
    return all;
}

/// Sets the enumeration that comes `wanted`th in a record.
struct EnumeratorSetter {
    std::size_t wanted;
    unsigned value;
    std::string key = {}, type = {};
    std::size_t met = 0;
    template <class T>
    void number(std::string_view name, T& field) {
        if constexpr (trace::is_enumeration<T>)
            if (met++ == wanted) {
                field = static_cast<T>(value);
                key = name;
                type = boost::core::demangle(typeid(T).name());
                type = type.substr(type.rfind(':') + 1);
            }
    }
    void time(std::string_view, std::uint64_t&) {}
    void address(std::string_view, std::uint64_t&) {}
    void handle(std::string_view, auto&) {}
    void text(std::string_view, std::string_view&) {}
    void numbers(std::string_view, auto&) {}
};

} // namespace

BOOST_AUTO_TEST_CASE(every_enumerator_of_every_record_has_its_word) {
    const auto names_of = enumerations();
    BOOST_TEST(names_of.size() > 20u);
    std::size_t checked = 0;
    for_each_record_type([&]<class Record>() {
        for (std::size_t field = 0;; ++field) {
            EnumeratorSetter first{field, 0};
            Record probe;
            Record::fields(probe, first);
            if (first.key.empty())
                return;
            BOOST_TEST_REQUIRE(names_of.contains(first.type), first.type);
            const std::vector<std::string>& names = names_of.at(first.type);
            for (unsigned value = 0; value <= names.size(); ++value) {
                TraceBuilder builder;
                Record record;
                EnumeratorSetter setter{field, value};
                Record::fields(record, setter);
                builder.add(record);
                const std::string path = temporary_path("enumerator");
                builder.write(path);
                for (const json& line : dump(path)) {
                    if (line["record"] != Record::name || (value < names.size() && names[value].empty()))
                        continue;
                    const json expected = value < names.size() ? json(names[value]) : json(value);
                    BOOST_TEST(line.at(setter.key) == expected, Record::name << " " << line.dump());
                    ++checked;
                }
            }
        }
    });
    BOOST_TEST(checked > 150u);
}

BOOST_FIXTURE_TEST_CASE(long_names_are_whole_once, Scenario) {
    const std::string symbol(4'000, 'k');
    const auto kernel = function(symbol);
    for (int i = 0; i < 100; ++i)
        launch(kernel, {});
    std::size_t whole = 0;
    for (const json& line : dump(path())) {
        whole += line.dump().size() > symbol.size();
        if (line["record"] == "Launch")
            BOOST_TEST(line["function"].get<std::string>().ends_with("k…"));
    }
    BOOST_TEST(whole == 1u);
}

/// Records of ten bytes whose lines repeat a name of a kilobyte.
BOOST_AUTO_TEST_CASE(names_that_are_repeated_have_a_bound_in_all) {
    Scenario s;
    trace::Sync call;
    call.entry = s.entry(std::string(900, 'x'));
    const auto kernel = s.function(std::string(900, 'k'));
    for (int i = 0; i < 16'000; ++i) {
        call.start = s.now += 1'000;
        s.builder.add(call);
        if (i % 16 == 0)
            s.launch(kernel, {});
        if (i % 4'000 == 3'999)
            s.builder.next_chunk();
    }
    const std::string path = s.path();
    reader::Trace trace(path);
    std::ostringstream json_text, text;
    reports::write_json_dump(trace, json_text);
    reports::write_text_dump(trace, text);
    const std::uint64_t bytes = std::filesystem::file_size(path);
    BOOST_TEST(json_text.str().size() < 32 * bytes);
    BOOST_TEST(text.str().size() < 32 * bytes);
    std::vector<std::size_t> lengths;
    for (const json& line : dump(path))
        if (line["record"] == "Launch")
            lengths.push_back(line["function"].get<std::string>().size());
    BOOST_TEST(lengths.front() == 900u);
    BOOST_TEST(lengths.back() == 64u + std::string("…").size());
}

BOOST_DATA_TEST_CASE(golden_traces_read_as_they_did, boost::unit_test::data::make({"v1.0", "v1.1"}), version) {
    const std::string golden = std::string(UMADVISOR_GOLDEN) + "/" + version;
    // A version that was released is never written again: this is for the day a new one is made.
    if (const char* write = std::getenv("UMADVISOR_WRITE_GOLDEN")) {
        every_record().write(std::string(write) + ".umtrace");
        reader::Trace made(std::string(write) + ".umtrace");
        std::ofstream out(std::string(write) + ".dump.jsonl");
        reports::write_json_dump(made, out);
        BOOST_FAIL("golden trace written, not compared");
    }
    const std::vector<json> lines = dump(golden + ".umtrace");
    std::ifstream expected(golden + ".dump.jsonl");
    std::size_t count = 0;
    for (std::string text; std::getline(expected, text); ++count) {
        BOOST_TEST_REQUIRE(count < lines.size());
        // Fields that were added since stand beside the old ones, which read as they did.
        const json line = json::parse(text);
        for (const auto& [key, value] : line.items())
            BOOST_TEST(lines[count].value(key, json()) == value, lines[count].dump() << " differs in " << key);
    }
    BOOST_TEST(count > 30u);
    BOOST_TEST(count == lines.size());
    BOOST_TEST(reader::Trace(golden + ".umtrace").file.completeness().whole());
}

BOOST_AUTO_TEST_SUITE_END()

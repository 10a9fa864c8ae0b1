/// Every output has the same figures of managed memory.
#include "command_run.hpp"
#include "managed_scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sqlite3.h>
#include <sstream>

BOOST_AUTO_TEST_SUITE(analyzer_one_account)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;

namespace {

constexpr std::uint64_t rounds = 4, large_bytes = 8 * mib, small_bytes = 2 * mib;

/// Host and device use two arrays in turn. The driver counts all of it; of moves and of faults of the device it
/// reports those of one round, and each fault three times.
std::string two_arrays() {
    Managed s;
    s.builder.add(trace::Device{.ordinal = 0, .memory_bytes = 64 * mib, .device_name = "Card"});
    const auto large_line = s.stack(), small_line = s.stack(), launched = s.stack(), touched = s.stack();
    s.tell(light_kinds);
    const auto large = s.managed(large_bytes, large_line), small = s.managed(small_bytes, small_line);
    const auto kernel = s.function("_Z4stepPf");
    trace::ManagedCounters sum;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (const auto memory : {large, small}) {
            s.now += 10;
            s.fault(trace::ManagedEventKind::host_fault, address_of(memory), 9, touched);
        }
        sum.host_faults += 20;
        sum.bytes_to_host += round == 0 ? 0 : large_bytes + small_bytes;
        s.now += 10;
        s.counters(sum.bytes_to_device, sum.bytes_to_host, sum.device_faults, sum.host_faults);
        s.residency(large, large_bytes, large_bytes, trace::SampleMoment::before_launch);
        s.residency(small, small_bytes, small_bytes, trace::SampleMoment::before_launch);
        if (round == 1)
            s.tell(all_kinds);
        s.launch(kernel, {large, small}, 0, launched);
        if (round == 1) {
            s.fault(trace::ManagedEventKind::device_fault, address_of(large), 23);
            s.fault(trace::ManagedEventKind::device_fault, address_of(small), 5);
            s.migrate(address_of(large), mib, device);
            s.tell(light_kinds);
        }
        sum.device_faults += 10;
        sum.bytes_to_device += large_bytes + small_bytes;
        s.synchronize();
        s.counters(sum.bytes_to_device, sum.bytes_to_host, sum.device_faults, sum.host_faults);
        s.residency(large, large_bytes, 0, trace::SampleMoment::after_synchronize);
        s.residency(small, small_bytes, 0, trace::SampleMoment::after_synchronize);
    }
    return s.path();
}

std::string out_of(std::vector<std::string> arguments) {
    const Result result = run(std::move(arguments));
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    return result.out;
}

constexpr std::uint64_t up = rounds * (large_bytes + small_bytes),
                        down = (rounds - 1) * (large_bytes + small_bytes), host_faults = rounds * 20,
                        device_faults = rounds * 10;

std::string asked(const std::string& path, const std::string& sql) {
    sqlite3* database = nullptr;
    BOOST_TEST_REQUIRE(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
    std::string text;
    const auto add_row = [](void* to, int columns, char** values, char**) {
        for (int column = 0; column < columns; ++column)
            *static_cast<std::string*>(to) +=
                std::string(values[column] == nullptr ? "NULL" : values[column]) + " ";
        return 0;
    };
    BOOST_TEST(sqlite3_exec(database, sql.c_str(), add_row, &text, nullptr) == SQLITE_OK);
    sqlite3_close(database);
    return text;
}

/// "40 30 80 40 "
std::string figures() {
    std::ostringstream text;
    for (const std::uint64_t each : {up, down, host_faults, device_faults})
        text << each << " ";
    return text.str();
}

} // namespace

BOOST_AUTO_TEST_CASE(lines_add_up_to_the_run_in_the_report) {
    const json managed = json::parse(out_of({"report", "--json", two_arrays()}))["managed"];
    std::map<std::string, std::uint64_t> sum;
    for (const char* key : {"bytes_to_device", "bytes_to_host", "host_faults", "device_faults"}) {
        for (const json& line : managed["allocations"])
            sum[key] += line[key].get<std::uint64_t>();
        BOOST_TEST(managed["totals"][key] == sum[key], key);
    }
    BOOST_TEST(sum["bytes_to_device"] == up);
    BOOST_TEST(sum["device_faults"] == device_faults);
    std::uint64_t by_kernels = 0;
    for (const json& line : managed["allocations"])
        for (const json& kernel : line["kernels"]) {
            BOOST_TEST(
                kernel["faults"].is_number_unsigned()); // a share of a total, and still a number of faults
            by_kernels += kernel["faults"].get<std::uint64_t>();
        }
    BOOST_TEST(by_kernels == device_faults);
}

BOOST_AUTO_TEST_CASE(text_and_tables_have_the_figures_of_the_report) {
    const std::string trace = two_arrays();
    BOOST_TEST(contains(out_of({"report", trace}),
                        "in all: 40 MiB to the device, 30 MiB to the host; 80 host faults, 40 device faults"));
    std::map<std::string, std::uint64_t> sum;
    const json rows = json::parse(out_of({"stats", "--format", "json", trace}))["tables"]["managed"];
    BOOST_TEST_REQUIRE(rows.size() == 3u);
    for (const char* key : {"bytes_to_device", "bytes_to_host", "host_faults", "device_faults"}) {
        BOOST_TEST(rows[0][key].get<std::uint64_t>() + rows[1][key].get<std::uint64_t>() ==
                   rows[2][key].get<std::uint64_t>());
        sum[key] = rows[2][key];
    }
    BOOST_TEST(sum["bytes_to_device"] == up);
    BOOST_TEST(sum["bytes_to_host"] == down);
    BOOST_TEST(sum["host_faults"] == host_faults);
    BOOST_TEST(sum["device_faults"] == device_faults);
}

BOOST_AUTO_TEST_CASE(flame_graphs_weigh_all_faults) {
    std::istringstream lines(out_of({"flame", "--by", "faults", two_arrays()}));
    std::uint64_t sum = 0;
    for (std::string line; std::getline(lines, line);)
        sum += std::stoull(line.substr(line.rfind(' ') + 1));
    BOOST_TEST(sum == host_faults + device_faults);
}

BOOST_AUTO_TEST_CASE(whatif_says_what_the_run_moved_and_what_its_model_does) {
    const std::string trace = two_arrays();
    const json recorded = json::parse(out_of({"whatif", "--json", trace}))["recorded"];
    BOOST_TEST(recorded["to_device_bytes"] == up);
    BOOST_TEST(recorded["to_host_bytes"] == down);
    BOOST_TEST(recorded["modelled_to_device_bytes"] == up);
    const std::string text = out_of({"whatif", trace});
    BOOST_TEST(contains(text, "as recorded"), text);
    BOOST_TEST(lacks(text, "are a simulation"), text);
}

/// Nothing says that the host had it before.
BOOST_FIXTURE_TEST_CASE(whatif_says_that_its_model_moves_other_bytes, Managed) {
    builder.add(trace::Device{.ordinal = 0, .memory_bytes = 64 * mib, .device_name = "Card"});
    launch(function("_Z4stepPf"), {managed(8 * mib)});
    counters(8 * mib, 0);
    const std::string text = out_of({"whatif", path()});
    BOOST_TEST(contains(text, "are a simulation: of the recorded run it moves 0 B to the device"), text);
}

BOOST_AUTO_TEST_CASE(a_database_has_the_figures_of_the_report) {
    const std::string db = temporary_path("account.db");
    out_of({"export", "--sqlite", "-f", "-o", db, two_arrays()});
    BOOST_TEST(asked(db, "SELECT moved_to_device_bytes, moved_to_host_bytes, host_faults, device_faults "
                         "FROM ranks") == figures());
    BOOST_TEST(asked(db, "SELECT sum(moved_to_device_bytes), sum(moved_to_host_bytes), sum(host_faults), "
                         "sum(device_faults) FROM managed_lines") == figures());
}

BOOST_AUTO_TEST_SUITE_END()

/// Runs as tables of SQLite.
#include "command_run.hpp"
#include "scenario.hpp"
#include "trace/plain_text.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <sqlite3.h>

BOOST_AUTO_TEST_SUITE(analyzer_sqlite)

using namespace umadvisor;
using namespace umadvisor::test;
using trace::Memory;

namespace {

/// Columns of a row with blanks between, rows with line feeds.
std::string asked(const std::string& path, const std::string& sql) {
    sqlite3* database = nullptr;
    BOOST_TEST_REQUIRE(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
    std::string text;
    const auto add_row = [](void* to, int columns, char** values, char**) {
        auto& all = *static_cast<std::string*>(to);
        all += all.empty() ? "" : "\n";
        for (int column = 0; column < columns; ++column)
            all += std::string(column == 0 ? "" : " ") + (values[column] == nullptr ? "NULL" : values[column]);
        return 0;
    };
    const int result = sqlite3_exec(database, sql.c_str(), add_row, &text, nullptr);
    BOOST_TEST(result == SQLITE_OK, sqlite3_errmsg(database));
    sqlite3_close(database);
    return text;
}

std::string exported(std::vector<std::string> traces) {
    const std::string output = temporary_path("runs.db");
    traces.insert(traces.begin(), {"export", "--sqlite", "-f", "-o", output});
    const Result result = run(traces);
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    return output;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_call_a_copy_and_a_launch_have_a_row_each, Scenario) {
    const std::uint64_t line = stack();
    const std::uint64_t memory = allocate(mib, Memory::device);
    copy(mib, 200'000, {.source = Memory::pinned, .stack = line, .to = memory});
    copy(4096, 1000, {.stack = line, .status = 1});
    launch(function("_Z5saxpyIfEvPT_i"), {memory}, 7, line);
    synchronize({.duration = 320'000});
    device_time(7, 300'000);
    synchronize();
    const std::string db = exported({path()});
    BOOST_TEST(asked(db, "PRAGMA user_version") == "2");
    BOOST_TEST(asked(db, "PRAGMA integrity_check") == "ok");
    BOOST_TEST(
        asked(db, "SELECT e.name, duration_ns, status, bytes, measured, by_umadvisor FROM calls JOIN entries e "
                  "USING (run, entry) ORDER BY call") ==
        "cudaMalloc 1000 0 1048576 1 0\ncudaMemcpy 200000 0 1048576 1 0\ncudaMemcpy 1000 1 4096 1 0\n"
        "cudaLaunchKernel 2400 0 0 1 0\ncudaDeviceSynchronize 320000 0 0 1 0\n"
        "cudaDeviceSynchronize 1000000 0 0 1 0");
    BOOST_TEST(
        asked(db,
              "SELECT waited_ns > 290000 AND waited_ns < duration_ns FROM calls WHERE duration_ns = 320000") ==
        "1");
    BOOST_TEST(
        asked(db, "SELECT direction, source_memory, destination_memory, bytes, destination_allocation = " +
                      std::to_string(memory) + ", status, device_ns > 0 FROM copies") ==
        "HtoD pinned device 1048576 1 0 1\nHtoD pageable device 4096 0 1 NULL");
    BOOST_TEST(asked(db, "SELECT f.name, graph, block_x, device_ns BETWEEN 299999 AND 300001, device_measured, "
                         "device_start_ns > start_ns FROM launches JOIN calls USING (call) JOIN functions f "
                         "ON f.run = launches.run AND f.function = launches.function") ==
               "void saxpy<float>(float*, int) 0 256 1 1 1");
    BOOST_TEST(asked(db, "SELECT copies, copied_to_device_bytes, launches, allocations FROM ranks") ==
               "1 1048576 1 1");
    BOOST_TEST(asked(db, "SELECT count(*) FROM calls LEFT JOIN stacks USING (run, stack) "
                         "WHERE stack <> 0 AND line IS NULL") == "0");
}

BOOST_FIXTURE_TEST_CASE(what_is_told_of_managed_memory_after_its_free_is_counted_for_it, Scenario) {
    const std::uint64_t kept = allocate(mib, Memory::device);
    const std::uint64_t memory = allocate(4 * mib, Memory::managed);
    trace::ManagedEvent event{.address = 0x7f00'0000'0000 + (memory << 32)};
    free(memory);
    event.start = now;
    event.kind = trace::ManagedEventKind::migration;
    event.bytes = 2 * mib;
    event.from = 1;
    event.cause = 4;
    event.duration = 700;
    builder.add(event, 2);
    event.kind = trace::ManagedEventKind::host_fault;
    event.from = event.to = event.duration = 0;
    event.cause = 1;
    event.count = 4;
    builder.add(event, 2);
    const std::string db = exported({path()});
    BOOST_TEST(
        asked(db,
              "SELECT memory, bytes, freed_ns IS NULL, moved_to_device_bytes, moved_to_host_bytes, host_faults "
              "FROM allocations ORDER BY bytes") == "device 1048576 1 0 0 0\nmanaged 4194304 0 0 2097152 5");
    BOOST_TEST(asked(db, "SELECT duration_ns, allocation, bytes, from_device, to_device, cause FROM moves") ==
               "700 " + std::to_string(memory) + " 2097152 0 -1 eviction");
    BOOST_TEST(asked(db, "SELECT device, allocation, access, faults FROM faults") ==
               "-1 " + std::to_string(memory) + " read 5");
    BOOST_TEST(asked(db, "SELECT moved_to_host_bytes, host_faults FROM ranks") == "2097152 5");
    BOOST_TEST(kept != memory);
}

BOOST_AUTO_TEST_CASE(ranks_of_a_job_belong_together) {
    const std::filesystem::path folder = temporary_path("job");
    std::filesystem::create_directories(folder);
    std::vector<std::string> traces;
    for (const std::string_view rank : {"0", "1"}) {
        Scenario s;
        trace::Process process{.host = "node7", .rank = rank};
        process.pid = s.builder.pid = 100 + static_cast<std::uint32_t>(rank[0]);
        TraceBuilder& builder = s.builder;
        TraceBuilder own;
        own.pid = builder.pid;
        own.add(process);
        traces.push_back(folder / ("train." + std::string(rank) + "." + std::to_string(own.pid) + ".umtrace"));
        own.write(traces.back());
    }
    const std::string db = exported(traces);
    BOOST_TEST(asked(db, "SELECT count(DISTINCT job), count(*), max(rank), min(host) FROM ranks") ==
               "1 2 1 node7");
    BOOST_TEST(asked(db, "SELECT job FROM runs LIMIT 1") == (folder / "train").string());
    BOOST_TEST(asked(db, "SELECT count(*) FROM runs WHERE user <> '' AND started_ns = 1700000000000000000") ==
               "2");
}

BOOST_FIXTURE_TEST_CASE(findings_are_those_of_the_report, Scenario) {
    const std::uint64_t line = stack();
    copy_often(64 * mib, 9'000'000, {.stack = line});
    const std::string db = exported({path()});
    BOOST_TEST(
        asked(
            db,
            "SELECT rule, name, saving_ns > 1e6, length(advice) > 10, s.line <> '' FROM findings JOIN stacks s "
            "USING (run, stack)") == "UMA-101 pageable-copy 1 1 1");
}

BOOST_FIXTURE_TEST_CASE(hostile_names_are_text_in_a_database_too, Scenario) {
    const std::string hostile =
        "'); DROP TABLE runs; --<script>\033]0;x\a\xe2\x80\xae\xff\n" + std::string(16'000, 'x');
    launch(function(hostile), {});
    allocate(mib, Memory::managed, {.symbol = hostile});
    allocate(4096, Memory::managed, {.id = 77, .variable = text(hostile)});
    const std::string db = exported({path()});
    for (const char* sql :
         {"SELECT name FROM functions", "SELECT max(symbol) FROM entries WHERE symbol LIKE '%DROP%'",
          "SELECT variable FROM allocations WHERE allocation = 77"}) {
        const std::string name = asked(db, sql);
        BOOST_TEST(name.find("DROP TABLE runs; --<script>") != name.npos);
        BOOST_TEST(name.size() <= 1024u + 3);
        std::string plain = name;
        plain.resize(trace::make_plain(plain.data(), plain.size(), trace::Plain::line));
        BOOST_TEST(plain == name);
    }
    BOOST_TEST(asked(db, "SELECT count(*) FROM runs") == "1");
}

BOOST_FIXTURE_TEST_CASE(a_database_that_cannot_be_made_leaves_nothing_behind, Scenario) {
    synchronize();
    const std::filesystem::path folder = temporary_path("left");
    std::filesystem::create_directories(folder);
    const std::string output = folder / "x.db";
    check_one_line(run({"export", "--sqlite", "-o", output, path(), "nothing.umtrace"}), 1, "nothing.umtrace");
    BOOST_TEST(std::filesystem::is_empty(folder));
    BOOST_TEST(run({"export", "--sqlite", "-o", output, path()}).status == 0);
    check_one_line(run({"export", "--sqlite", "-o", output, path()}), 1, "exists already");
    BOOST_TEST(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

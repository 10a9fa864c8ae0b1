/// Device memory over time for PyTorch's memory_viz, and the pickles it is written as.
#include "analyzer/reports/memory_history.hpp"
#include "analyzer/reports/memory_viz/memory_viz.hpp"
#include "analyzer/reports/memory_viz/pickle.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/resource.h>

BOOST_AUTO_TEST_SUITE(analyzer_memory_viz)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;
using reports::PickleWriter;
using trace::Memory;

namespace {

/// What Python reads from a pickle, as JSON.
json unpickled(const std::string& path) {
    const std::string told = temporary_path("unpickled.json");
    const std::string command = "python3 -c 'import json, pickle, sys; print(json.dumps(pickle.load(open("
                                "sys.argv[1], \"rb\"))))' '" +
                                path + "' > '" + told + "'";
    BOOST_TEST_REQUIRE(std::system(command.c_str()) == 0);
    return json::parse(std::ifstream(told));
}

/// One text of what names of others are made of, and what is left of it in UTF-8.
struct Text {
    std::string given, kept;
};

Text random_text(std::mt19937& random) {
    static const std::vector<Text> pieces{{"a", "a"},
                                          {"\n", "\n"},
                                          {std::string(1, '\0'), std::string(1, '\0')},
                                          {"é", "é"},
                                          {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                                          {"\xff", "\xef\xbf\xbd"},
                                          {"\xc0", "\xef\xbf\xbd"},
                                          {"'\"\\", "'\"\\"},
                                          {std::string(70'000, 'x'), std::string(70'000, 'x')}};
    Text text;
    for (unsigned left = random() % 6; left != 0; --left) {
        const Text& piece = pieces[random() % (random() % 50 == 0 ? pieces.size() : pieces.size() - 1)];
        text.given += piece.given;
        text.kept += piece.kept;
    }
    return text;
}

/// Writes one object, and returns it as Python is to read it.
json write_random(PickleWriter& out, std::mt19937& random, unsigned depth) {
    switch (random() % (depth == 0 ? 3 : 5)) {
    case 0: {
        const std::uint64_t value = (std::uint64_t{random()} << 32 | random()) >> random() % 64;
        out.number(value);
        return value;
    }
    case 1: {
        const auto value = -static_cast<std::int64_t>((std::uint64_t{random()} << 31 | 1) >> random() % 62);
        out.number(value);
        return value;
    }
    case 2: {
        const Text text = random_text(random);
        random() % 2 == 0 ? out.text(text.given) : out.key(text.given);
        return text.kept;
    }
    case 3: {
        json list = json::array();
        out.begin_list();
        for (unsigned left = random() % 5; left != 0; --left) {
            list.push_back(write_random(out, random, depth - 1));
            if (random() % 4 == 0)
                out.next_piece();
        }
        out.end_list();
        return list;
    }
    default: {
        json dict = json::object();
        out.begin_dict();
        for (unsigned left = random() % 5; left != 0; --left) {
            const Text key = random_text(random);
            out.key(key.given);
            dict[key.kept] = write_random(out, random, depth - 1);
        }
        out.end_dict();
        return dict;
    }
    }
}

/// An allocation that the driver has no room for.
void run_out(Scenario& s, std::uint64_t bytes, std::uint64_t stack = 0) {
    s.allocate(bytes, Memory::device, {.stack = stack, .status = 2});
}

/// Allocates 1 and 2 MiB, runs out at 4, frees the 1 MiB, gets 4 after all, beside memory of the host.
std::string retried() {
    Scenario s;
    const std::uint64_t first = s.allocate(mib, Memory::device, s.stack());
    s.allocate(2 * mib, Memory::managed, s.stack());
    s.allocate(64 * mib, Memory::pinned, s.stack());
    run_out(s, 4 * mib, s.stack());
    s.free(first);
    s.allocate(4 * mib, Memory::device, s.stack());
    return s.path();
}

json exported(std::vector<std::string> options, const std::string& path, int status = 0) {
    const std::string output = temporary_path("snapshot.pickle");
    std::filesystem::remove(output);
    options.insert(options.begin(), {"export", "--memory-viz", "-o", output});
    options.push_back(path);
    BOOST_TEST_REQUIRE(run(options).status == status);
    return unpickled(output);
}

std::vector<std::string> actions(const json& steps) {
    std::vector<std::string> all;
    for (const json& step : steps)
        all.push_back(step.at("action"));
    return all;
}

trace::Alloc piece(std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes,
                   Memory memory = Memory::device) {
    return {
        .allocation = trace::AllocationId{allocation}, .address = address, .bytes = bytes, .memory = memory};
}

} // namespace

BOOST_AUTO_TEST_CASE(python_reads_back_what_was_written) {
    std::mt19937 random(20);
    const std::string path = temporary_path("random.pickle");
    for (int round = 0; round < 12; ++round) {
        std::ofstream file(path, std::ios::binary);
        PickleWriter out([&](std::string_view bytes) { file << bytes; });
        json expected = json::array();
        out.begin_list();
        for (int i = 0; i < 50; ++i)
            expected.push_back(write_random(out, random, 4));
        out.begin_list();
        out.end_list();
        out.again(out.remember());
        out.end_list();
        out.finish();
        file.close();
        expected.push_back(json::array());
        expected.push_back(json::array());
        BOOST_TEST((unpickled(path) == expected), "round " << round);
    }
}

BOOST_AUTO_TEST_CASE(numbers_at_the_limits_of_their_encodings) {
    const std::string path = temporary_path("numbers.pickle");
    std::ofstream file(path, std::ios::binary);
    PickleWriter out([&](std::string_view bytes) { file << bytes; });
    json expected = json::array();
    out.begin_list();
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{255}, std::uint64_t{256}, std::uint64_t{65535}, std::uint64_t{65536},
          std::uint64_t{1} << 31, std::uint64_t{1} << 63, UINT64_MAX}) {
        out.number(value);
        expected.push_back(value);
    }
    for (const std::int64_t value :
         {std::int64_t{-1}, std::int64_t{INT32_MIN}, std::int64_t{INT32_MIN} - 1, INT64_MIN}) {
        out.number(value);
        expected.push_back(value);
    }
    out.end_list();
    out.finish();
    file.close();
    BOOST_TEST((unpickled(path) == expected));
}

BOOST_AUTO_TEST_CASE(what_is_held_and_how_it_came_to_be) {
    const json snapshot = exported({}, retried());
    const json& segments = snapshot.at("segments");
    BOOST_TEST_REQUIRE(segments.size() == 2u);
    BOOST_TEST(segments[0].at("total_size") == 2 * mib);
    BOOST_TEST(segments[1].at("blocks")[0].at("size") == 4 * mib);
    BOOST_TEST(segments[1].at("blocks")[0].at("address") == segments[1].at("address"));
    BOOST_TEST(segments[1].at("blocks")[0].at("state") == "active_allocated");
    BOOST_TEST(segments[1].at("segment_type") == "large");
    BOOST_TEST(segments[1].at("frames").size() == 1u);
    BOOST_TEST_REQUIRE(snapshot.at("device_traces").size() == 1u);
    const json& steps = snapshot.at("device_traces")[0];
    const std::vector<std::string> expected{"segment_alloc", "alloc",          "segment_alloc",  "alloc",
                                            "oom",           "free_requested", "free_completed", "segment_free",
                                            "segment_alloc", "alloc"};
    BOOST_TEST(actions(steps) == expected, boost::test_tools::per_element());
    BOOST_TEST(steps[0].at("user_metadata") == "cudaMalloc");
    BOOST_TEST(steps[2].at("user_metadata") == "cudaMallocManaged");
    BOOST_TEST(steps[4].at("size") == 4 * mib);
    BOOST_TEST(steps[4].at("device_free") == 0); // how much the device has is not known here
    BOOST_TEST(steps[4].at("time_us").get<std::uint64_t>() >= steps[0].at("time_us").get<std::uint64_t>());
}

BOOST_AUTO_TEST_CASE(the_moment_at_which_memory_was_out) {
    const json snapshot = exported({"--at-oom"}, retried());
    BOOST_TEST(snapshot.at("segments").size() == 2u);
    BOOST_TEST(snapshot.at("segments")[0].at("total_size") == mib);
    BOOST_TEST(actions(snapshot.at("device_traces")[0]).back() == "oom");
    Scenario s;
    s.allocate(mib, Memory::device);
    const std::string path = s.path(), output = temporary_path("none.pickle");
    check_one_line(run({"export", "--memory-viz", "--at-oom", "-o", output, path}), 1, "remove --at-oom");
    BOOST_TEST(!std::filesystem::exists(output));
}

BOOST_FIXTURE_TEST_CASE(a_long_history_keeps_its_newest_entries, Scenario) {
    for (int i = 0; i < 1500; ++i)
        free(allocate(mib, Memory::device));
    const std::string file = path(), output = temporary_path("limited.pickle");
    BOOST_TEST(exported({}, file).at("device_traces")[0].size() == 7500u);
    check_one_line(run({"export", "--memory-viz", "--limit", "4", "-o", output, file}), 0,
                   "the newest 4 entries of its history are written, 7496 older ones are not (--limit)");
    const std::vector<std::string> expected{"alloc", "free_requested", "free_completed", "segment_free"};
    BOOST_TEST(actions(unpickled(output).at("device_traces")[0]) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pieces_that_are_held_do_not_overlap) {
    const reader::Dictionary dictionary;
    reports::MemoryHistory history(dictionary, 1000, false);
    history.add(piece(1, 4096, 4096));
    history.add(piece(2, 8192, 4096));
    history.add(piece(3, 6000, 4096)); // over both: their frees went unseen
    BOOST_TEST(history.held().size() == 1u);
    history.add(piece(4, 4096, 1904)); // beside it
    history.add(piece(5, 0, 1000, Memory::array));
    history.add(piece(6, 0, 1000, Memory::array));
    history.add(piece(7, UINT64_MAX, UINT64_MAX));
    BOOST_TEST(history.held().size() == 5u);
    history.add(piece(3, 6000, 4096)); // an id once more
    BOOST_TEST(history.held().size() == 5u);
    for (std::uint64_t id = 100; id < 500; ++id) // damage
        history.add(piece(id, 0, UINT64_MAX, Memory::array));
    for (std::uint64_t id = 100; id < 500; ++id)
        history.add(trace::Free{.allocation = trace::AllocationId{id}});
    BOOST_TEST(history.held().size() <= 5u);
    std::uint64_t end = 0;
    for (const auto& [address, memory] : history.held()) {
        BOOST_TEST(address >= end);
        BOOST_TEST(address == memory.address);
        end = address + memory.bytes;
    }
    trace::Free free{.allocation = trace::AllocationId{5}};
    history.add(free);
    history.add(free); // twice: nothing is left of it
    BOOST_TEST(history.held().size() <= 4u);
}

BOOST_AUTO_TEST_CASE(wrong_usage_of_export) {
    const std::string path = retried(), output = temporary_path("wrong.pickle");
    check_one_line(run({"export", path}), 2, "one format: --memory-viz");
    check_one_line(run({"export", "--memory-viz", path}), 2, "needs -o");
    check_one_line(run({"export", "--memory-viz", "-o", output, "--limit", "0", path}), 2, "not 0");
    check_one_line(run({"export", "--memory-viz", "-o", output, "--limit", "4k", path}), 2, "not 4k");
    check_one_line(run({"export", "--memory-viz", "-o", output, "/nowhere/trace"}), 1, "No such file");
    check_one_line(run({"export", "--memory-viz", "-o", "/nowhere/x", path}), 1, "No such file");
    check_one_line(run({"export", "--memory-viz", "-o", "/dev/full", path}), 1, "not a regular file");
    check_one_line(run({"export", "--memory-viz", "-f", "-o", path, path}), 1, "is the trace itself");
    BOOST_TEST(!std::filesystem::exists(output));
}

BOOST_FIXTURE_TEST_CASE(a_full_disk_leaves_the_older_export_as_it_is, Scenario) {
    for (int i = 0; i < 3000; ++i)
        allocate(mib, Memory::device);
    const std::string file = path(), output = temporary_file("old.pickle", {0x6f, 0x6c, 0x64});
    rlimit before{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit small{100'000, before.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const Result result = run({"export", "--memory-viz", "-f", "-o", output, file});
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    check_one_line(result, 1, "nothing was written");
    std::string left;
    std::ifstream(output) >> left;
    BOOST_TEST(left == "old");
}

BOOST_AUTO_TEST_SUITE_END()

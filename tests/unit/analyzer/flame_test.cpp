/// Flame graphs and trees of stacks.
#include "analyzer/reports/flame/flame.hpp"
#include "analyzer/reports/flame/tree.hpp"
#include "command_run.hpp"
#include "managed_scenario.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

BOOST_AUTO_TEST_SUITE(analyzer_flame)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;
using reports::WeighedStacks;
using symbols::CodePlace;

namespace {

CodePlace frame(std::string function, std::string file = "", int line = 0) {
    return {.function = std::move(function), .file = std::move(file), .line = line};
}

const CodePlace main_frame = frame("main", "/src/app.cu", 9), upload = frame("upload", "/src/up.cu", 3);

WeighedStacks sample() {
    return {"app",
            reports::Weight::copied,
            {{{main_frame, upload, frame("cudaMemcpy")}, 600},
             {{main_frame, frame("cudaMemcpyAsync")}, 395},
             {{main_frame, upload, frame("cudaMemset")}, 5}}};
}

std::string tree_of(const WeighedStacks& stacks, const reports::TreeStyle& style) {
    std::ostringstream out;
    reports::write_tree(stacks, style, out);
    return out.str();
}

std::string collapsed(const WeighedStacks& stacks) {
    std::ostringstream out;
    reports::write_collapsed(stacks, out);
    return out.str();
}

/// Every kind of weight, each of another size.
std::string weighty_trace() {
    Scenario s;
    s.copy(1000, 70, {.stack = s.stack()});
    s.copy(200, 30, {.source = trace::Memory::pinned, .asynchronous = true});
    s.copy(40, 20, {.asynchronous = true});
    s.copy(7, 10, {.origin = trace::Origin::umadvisor});
    s.free(s.allocate(3000, trace::Memory::device));
    s.synchronize();
    return s.path();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_collapsed_line_for_each_stack) {
    BOOST_TEST(collapsed(sample()) == "main (app.cu:9);cudaMemcpyAsync 395\n"
                                      "main (app.cu:9);upload (up.cu:3);cudaMemcpy 600\n"
                                      "main (app.cu:9);upload (up.cu:3);cudaMemset 5\n");
    // Equal lines are one, and names do not break the format.
    BOOST_TEST(collapsed({"app", reports::Weight::copied, {{{frame("f;g\n")}, 1}, {{frame("f;g\n")}, 2}}}) ==
               "f:g? 3\n");
}

BOOST_AUTO_TEST_CASE(speedscope_gets_what_its_schema_asks_for) {
    WeighedStacks stacks = sample();
    stacks.stacks.push_back({{CodePlace{.module = "/opt/libx.so", .offset = 0x10}}, 1});
    const json file = json::parse(reports::to_speedscope(stacks).dump());
    BOOST_TEST(file["$schema"] == "https://www.speedscope.app/file-format-schema.json");
    BOOST_TEST(file["exporter"].is_string());
    const json& frames = file["shared"]["frames"];
    for (const json& each : frames) {
        BOOST_TEST(each["name"].is_string());
        BOOST_TEST((!each.contains("file") || each["file"].is_string()));
        BOOST_TEST((!each.contains("line") || each["line"].is_number_unsigned()));
    }
    BOOST_TEST(frames.size() == 6u); // each once
    BOOST_REQUIRE(file["profiles"].size() == 1u);
    BOOST_TEST(file["activeProfileIndex"] == 0);
    const json& profile = file["profiles"][0];
    BOOST_TEST(profile["type"] == "sampled");
    BOOST_TEST(profile["name"] == "app: bytes copied");
    BOOST_TEST(profile["unit"] == "bytes"); // of none, nanoseconds, ..., bytes
    BOOST_TEST(profile["startValue"] == 0);
    BOOST_TEST(profile["endValue"] == 1001);
    BOOST_REQUIRE(profile["samples"].size() == profile["weights"].size());
    std::uint64_t sum = 0;
    for (const json& weight : profile["weights"])
        sum += weight.get<std::uint64_t>();
    BOOST_TEST(sum == 1001u);
    for (const json& stack : profile["samples"])
        for (const json& index : stack)
            BOOST_TEST(index.get<std::size_t>() < frames.size());
    const json& first = profile["samples"][0]; // the outermost first
    BOOST_TEST(frames[first[0].get<std::size_t>()]["name"] == "main");
    BOOST_TEST(frames[first[0].get<std::size_t>()]["file"] == "/src/app.cu");
    BOOST_TEST(frames[first[0].get<std::size_t>()]["line"] == 9);
    BOOST_TEST(frames[profile["samples"][3][0].get<std::size_t>()]["name"] == "libx.so+0x10");
    stacks.by = reports::Weight::time;
    BOOST_TEST(reports::to_speedscope(stacks)["profiles"][0]["unit"] == "nanoseconds");
}

BOOST_AUTO_TEST_CASE(a_tree_with_the_heaviest_first) {
    BOOST_TEST(tree_of(sample(), {}) == "100.0%    1000 B  app: bytes copied\n"
                                        "100.0%    1000 B  main (app.cu:9)\n"
                                        " 60.5%     605 B  ├ upload (up.cu:3)\n"
                                        " 60.0%     600 B  │ ├ cudaMemcpy\n"
                                        "  0.5%       5 B  │ └ (1 smaller branch)\n"
                                        " 39.5%     395 B  └ cudaMemcpyAsync\n");
    BOOST_TEST(tree_of(sample(), {.least_percent = 50}) == "100.0%    1000 B  app: bytes copied\n"
                                                           "100.0%    1000 B  main (app.cu:9)\n"
                                                           " 60.5%     605 B  ├ upload (up.cu:3)\n"
                                                           " 60.0%     600 B  │ ├ cudaMemcpy\n"
                                                           "  0.5%       5 B  │ └ (1 smaller branch)\n"
                                                           " 39.5%     395 B  └ (1 smaller branch)\n");
    BOOST_TEST(tree_of(sample(), {.least_percent = 0}).find("cudaMemset") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_tree_is_as_wide_as_it_may_be) {
    std::istringstream narrow(tree_of(sample(), {.width = 34}));
    for (std::string line; std::getline(narrow, line);) {
        const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
        BOOST_TEST(columns <= 34, line);
    }
    BOOST_TEST(tree_of(sample(), {.width = 34}).find("  └ cudaMemcpyAsy…\n") != std::string::npos);
    BOOST_TEST(tree_of(sample(), {.width = 200}) == tree_of(sample(), {}));
    // Where nothing fits, something is still told.
    BOOST_TEST(tree_of(sample(), {.width = 1}).find("app: bytes copi…") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_each_weight_counts) {
    const std::string path = weighty_trace();
    const auto flame = [&](const char* by) { return run({"flame", "--by", by, path}).out; };
    BOOST_TEST(flame("copied") == "0x400010;cudaMemcpy 1000\ncudaMemcpyAsync 240\n");
    BOOST_TEST(flame("pageable") == "0x400010;cudaMemcpy 1000\ncudaMemcpyAsync 40\n");
    BOOST_TEST(flame("allocated") == "cudaMalloc 3000\n");
    BOOST_TEST(flame("time") == "(host code) 16000\n0x400010;cudaMemcpy 70\ncudaDeviceSynchronize 1000000\n"
                                "cudaFree 1000\ncudaMalloc 1000\ncudaMemcpy;(waiting for kernels) 10\n"
                                "cudaMemcpyAsync 50\n");
    check_one_line(run({"flame", "--by", "faults", path}), 1, "has no fault counts");
    check_one_line(run({"tree", "--by", "faults", path}), 1, "has no fault counts");
}

BOOST_AUTO_TEST_CASE(page_faults_by_who_faulted) {
    Managed s;
    s.tell(all_kinds);
    const std::uint64_t memory = s.managed(8 << 20), launching = s.stack(), touching = s.stack();
    s.launch(s.function("_Z5scalePfi"), {memory}, 0, launching);
    s.fault(trace::ManagedEventKind::device_fault, address_of(memory), 4);
    s.synchronize();
    s.fault(trace::ManagedEventKind::host_fault, address_of(memory), 2, touching);
    const std::string path = s.path();
    const json file = json::parse(run({"flame", "--by", "faults", "--format", "speedscope", path}).out);
    const std::string text = run({"flame", "--by", "faults", path}).out;
    BOOST_TEST(contains(text, ";cudaLaunchKernel;scale "));
    BOOST_TEST(contains(text, "(caller not recorded);"));
    BOOST_TEST(contains(text, ";page fault "));
    BOOST_TEST(file["profiles"][0]["unit"] == "none");
    BOOST_TEST(file["profiles"][0]["endValue"].get<std::uint64_t>() > 2u);
    const Result tree = run({"tree", "--by", "faults", path});
    BOOST_TEST(tree.status == 0, tree.err);
    BOOST_TEST(lacks(tree.out, " B  "));
}

BOOST_AUTO_TEST_CASE(time_of_page_faults_by_line) {
    Managed s;
    s.builder.add(trace::Device{.ordinal = 0, .memory_bytes = 64 * mib, .device_name = "Card"});
    const std::uint64_t memory = s.managed(8 << 20), touching = s.stack(), waiting = s.stack();
    s.counters(0, 0);
    s.launch(s.function("_Z5scalePfi"), {memory}, 0);
    s.synchronize({.stack = waiting, .duration = 10'000'000});
    s.counters(8 << 20, 0, 100);
    s.fault(trace::ManagedEventKind::host_fault, address_of(memory), {.code = touching, .thread = 1});
    s.now += 5'000'000;
    s.counters(8 << 20, 8 << 20, 100, 100);
    s.synchronize({.thread = 2});
    const std::string path = s.path(), text = run({"flame", path}).out;
    for (const char* const line :
         {"main thread;(caller not recorded);0x400020;page fault ", "main thread;(host code) ",
          "main thread;0x400030;cudaDeviceSynchronize;(page faults on the device) ",
          "main thread;0x400030;cudaDeviceSynchronize;(waiting for kernels) ",
          "thread 2;cudaDeviceSynchronize 1000\n"})
        BOOST_TEST(contains(text, line), text);
    std::uint64_t sum = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("main thread;"))
            sum += std::stoull(line.substr(line.rfind(' ')));
    BOOST_TEST(sum == json::parse(run({"report", "--json", path}).out)["process"]["net_ns"]);
    BOOST_TEST(contains(run({"tree", path}).out, ": time (device work counts where a thread waits for it)\n"));
}

BOOST_AUTO_TEST_CASE(names_are_cut) {
    const std::string name(16'000, 'n');
    const std::string shown = reports::frame_text(frame(name, "/src/" + name, 3));
    BOOST_TEST(shown.size() < 2'200u);
    BOOST_TEST(contains(shown, "n… (n"));
    BOOST_TEST(shown.ends_with("n…:3)"));
    BOOST_TEST(frame("", name, 3).text().size() < 1'200u);
    BOOST_TEST(
        reports::to_speedscope({"app", reports::Weight::copied, {{{frame(name, name, 3)}, 1}}}).dump().size() <
        5'000u);
    // No character is cut in two.
    std::string umlauts = "x";
    for (int i = 0; i < 1'000; ++i)
        umlauts += "ä";
    BOOST_TEST(json::accept(json(reports::frame_text(frame(umlauts))).dump()));
}

BOOST_FIXTURE_TEST_CASE(of_too_many_stacks_the_heaviest_are_shown, Scenario) {
    constexpr std::uint64_t depth = 1'000, stacks = 3'000, first = 1'000'000;
    for (std::uint64_t id = 0; id < depth + stacks; ++id) {
        trace::Frame record{.id = first + id,
                            .parent = id == 0 ? 0 : first + std::min(id, depth) - 1,
                            .address = 0x400000 + id};
        if (id % 500 == 0)
            builder.next_dictionary_chunk();
        builder.add(record);
    }
    for (std::uint64_t i = 0; i < stacks; ++i) {
        if (i % 500 == 0)
            builder.next_chunk();
        copy(1'000 + i, 10, {.stack = first + depth + i});
    }
    const Result result = run({"flame", "--full-stacks", "--by", "copied", path()});
    BOOST_TEST(result.out.size() < 10'000'000u);
    BOOST_TEST(contains(result.out, "(other stacks) "));
    BOOST_TEST(contains(result.out, " 3999\n"));
    BOOST_TEST(contains(result.err, "too many stacks"));
    std::uint64_t sum = 0;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
        sum += std::stoull(line.substr(line.rfind(' ')));
    BOOST_TEST(sum == stacks * 1'000 + stacks * (stacks - 1) / 2);
}

BOOST_AUTO_TEST_CASE(wrong_usage_of_flame_and_tree) {
    const std::string path = weighty_trace();
    check_one_line(run({"flame", "--by", "luck", path}), 2, "not luck");
    check_one_line(run({"tree", "--by", "luck", path}), 2, "not luck");
    check_one_line(run({"flame", "--format", "svg", path}), 2, "not svg");
    check_one_line(run({"tree", "--threshold", "much", path}), 2, "not much");
    check_one_line(run({"tree", "--width", "-1", path}), 2, "--width");
    check_one_line(run({"flame"}), 2, "FILE");
    check_one_line(run({"flame", "/nowhere/trace"}), 1, "No such file");
    check_one_line(run({"tree", "/nowhere/trace"}), 1, "No such file");
    Scenario empty;
    const std::string nothing = empty.path();
    check_one_line(run({"flame", nothing}), 0, "nothing to show by time");
    check_one_line(run({"tree", nothing}), 0, "nothing to show by time");
}

BOOST_AUTO_TEST_CASE(flame_writes_a_file_but_not_over_another) {
    const std::string path = weighty_trace(), output = temporary_path("flame.json");
    std::filesystem::remove(output);
    const auto flame = [&](const std::string& force) {
        return run({"flame", "--by", "copied", "--format", "speedscope", "-o", output, force});
    };
    BOOST_TEST(flame(path).status == 0);
    const json file = json::parse(std::ifstream(output));
    BOOST_TEST(file["profiles"][0]["endValue"] == 1240);
    check_one_line(flame(path), 1, "-f replaces it");
    BOOST_TEST(run({"flame", "-f", "-o", output, path}).status == 0);
    BOOST_TEST(!json::accept(std::ifstream(output)));
    check_one_line(run({"flame", "-o", "/nowhere/flame", path}), 1, "No such file");
}

BOOST_AUTO_TEST_SUITE_END()

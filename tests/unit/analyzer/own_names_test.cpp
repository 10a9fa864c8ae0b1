/// Remedies say what the program itself calls its memory, sizes and streams, where its source shows that.
#include "analyzer/advice/own_names.hpp"
#include "analyzer/advice/report.hpp"
#include "analyzer/reader/packed_section.hpp"
#include "analyzer/symbols/source_call.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_own_names)

using namespace umadvisor;
using namespace umadvisor::test;
using symbols::call_at;
using symbols::CallKind;
using symbols::SourceCall;

namespace {

std::string text_of_call(const SourceCall& call) {
    return call.pointer + " | " + call.from + " | " + call.bytes + " | " + call.stream;
}

std::string text_at(std::string_view source, int line = 1) {
    return text_of_call(call_at(source, line));
}

constexpr std::uint64_t bias = 0x7f00'0000'0000;

/// A program of which each line of source has an address, and each line number is a stack.
struct Program : Scenario {
    Program(std::string_view source, std::string_view name) : file(temporary_path(std::string(name))) {
        std::ofstream(file, std::ios::binary) << source;
        const auto now_ns =
            std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
        builder.realtime_ns = static_cast<std::uint64_t>(now_ns); // the source is older than the run
        builder.add(trace::Module{.id = 900, .bias = bias, .path = "/gone/program", .build_id = "build-id"});
        for (std::uint64_t line = 1; line < 40; ++line)
            builder.frame(line, 0, bias + 0x1000 * line + 1, 900);
    }

    std::vector<rules::Finding> findings(int other = 0, std::string_view in_file = {}) {
        return advice::Report(packed(other, in_file)).findings;
    }

    /// All lines are of one function, but those of `other`.
    std::string packed(int other = 0, std::string_view in_file = {}) {
        symbols::PackedSymbols packed;
        for (int line = 1; line < 40; ++line) {
            symbols::CodePlace place;
            place.function = line == other ? "other" : "work";
            place.file = in_file.empty() ? file : std::string(in_file);
            place.line = line;
            place.offset = 0x1000 * static_cast<std::uint64_t>(line);
            packed.modules[{"/gone/program", "build-id"}][place.offset] = {place};
        }
        const std::string path = temporary_path("own_names.umtrace");
        std::ofstream out(path, std::ios::binary);
        reader::write_with_section(reader::Source(this->path()), symbols::encode_packed(packed),
                                   [&](std::string_view bytes) { out << bytes; });
        return path;
    }

    std::string file;
};

std::string advice_of(const std::vector<rules::Finding>& findings, std::string_view rule) {
    for (const rules::Finding& finding : findings)
        if (finding.rule->id == rule)
            return finding.advice;
    return "no finding";
}

std::string edits_of(const std::vector<rules::Finding>& findings, std::string_view rule) {
    std::string text;
    for (const rules::Finding& finding : findings)
        if (finding.rule->id == rule)
            for (const rules::CodeEdit& edit : finding.code_edits)
                text += edit.text + "; ";
    return text;
}

/// Managed memory of line `allocated` that the host fills and a kernel launched at line 6 then takes by faults.
std::vector<rules::Finding> first_touch(std::string_view source, std::uint64_t allocated, int other = 0,
                                        std::string_view in_file = {}) {
    Program s(source, "first_touch.cu");
    const std::uint64_t data = s.allocate(64 * mib, trace::Memory::managed, allocated);
    const auto look = [&](std::uint64_t host_bytes, trace::SampleMoment moment) {
        s.residency(data, 64 * mib, host_bytes, moment);
        s.now += 10 * ms;
    };
    look(64 * mib, trace::SampleMoment::before_launch);
    s.launch(s.function("_Z5scalePfi"), {data}, 0, 6);
    s.synchronize({.duration = ms});
    s.now += 10 * ms;
    look(0, trace::SampleMoment::after_synchronize);
    return s.findings(other, in_file);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_arguments_of_a_call) {
    BOOST_TEST(text_at("cudaMemcpy(d_a, hostA + off, n * sizeof(float), cudaMemcpyHostToDevice);") ==
               "d_a | hostA + off | n * sizeof(float) | ");
    BOOST_TEST(text_at("cudaMemcpyAsync(a, b, n, cudaMemcpyDefault, streams[0]);") == "a | b | n | streams[0]");
    BOOST_TEST(text_at("cudaMemcpyAsync(a, b, n, cudaMemcpyDefault);") == "a | b | n | 0");
    BOOST_TEST(text_at("CHECK(cudaMemset(p->grid, 0, sizeof(Grid)));") == "p->grid |  | sizeof(Grid) | ");
    BOOST_TEST(text_at("cudaMalloc((void**)&d_a, bytes);") == "d_a |  | bytes | ");
    BOOST_TEST(text_at("cudaMalloc(reinterpret_cast<void**>(&self.data), bytes);") ==
               "self.data |  | bytes | ");
    BOOST_TEST(text_at("if (cudaMallocManaged(out, v.size() * 4) != cudaSuccess)") ==
               "*out |  | v.size() * 4 | ");
    BOOST_TEST(text_at("cudaMemPrefetchAsync(p, n, 0, s);") == "p |  | n | s");
    BOOST_TEST(text_at("cudaMemPrefetchAsync(p, n, {cudaMemLocationTypeDevice, 0}, 0, s);") == "p |  | n | s");
    BOOST_TEST(text_at("kernel<<<grid, block>>>(a, n);") == " |  |  | 0");
    BOOST_TEST(text_at("kernel<T, 4><<<dim3(n / 4, 1), block, 0, s>>>(a, n);") == " |  |  | s");
    BOOST_TEST(text_at("cuMemcpyHtoDAsync_v2(d, h, n, s);") == "d | h | n | s");
    BOOST_TEST((call_at("cudaFree(p);", 1).kind == CallKind::free));
}

BOOST_AUTO_TEST_CASE(comments_strings_and_lines_of_a_call) {
    constexpr std::string_view source = "// cudaFree(x);\n"
                                        "say(\"cudaFree(y)\"); cudaFree(z);\n"
                                        "/* cudaFree(a);\n"
                                        "   cudaFree(b); */ cudaMemcpy(d, // to\n"
                                        "     h, /* from, */\n"
                                        "     n, cudaMemcpyHostToDevice);\n"
                                        "#define FREE cudaFree(c); \\\n"
                                        "   cudaFree(c2)\n"
                                        "auto text = R\"(cudaFree(e))\";\n"
                                        "char c = '\"'; cudaFree(f); // \"";
    BOOST_TEST(text_at(source, 1) == " |  |  | ");
    BOOST_TEST(text_at(source, 2) == "z |  |  | ");
    BOOST_TEST(text_at(source, 3) == " |  |  | ");
    for (const int line : {4, 5, 6})
        BOOST_TEST(text_at(source, line) == "d | h | n | ", line);
    for (const int line : {7, 8, 9})
        BOOST_TEST(text_at(source, line) == " |  |  | ", line);
    BOOST_TEST(text_at(source, 10) == "f |  |  | ");
}

BOOST_AUTO_TEST_CASE(of_several_calls_none) {
    BOOST_TEST((call_at("cudaFree(a); cudaFree(b);", 1).kind == CallKind::none));
    BOOST_TEST((call_at("cudaMemcpy(a, b, n, k); step<<<1, 1>>>();", 1).kind == CallKind::none));
    BOOST_TEST((call_at("cudaMemcpy(a, b", 1).kind == CallKind::none)); // as a line that is cut
    BOOST_TEST((call_at("pool.cudaFree(a);", 1).kind == CallKind::none));
    BOOST_TEST((call_at("cudaFree(a, b);", 1).kind == CallKind::none)); // another function of that name
}

BOOST_AUTO_TEST_CASE(what_may_change_something_is_left_out) {
    for (const std::string_view argument : {"next++",
                                            "p = q",
                                            "p += 4",
                                            "--p",
                                            "take()",
                                            "queue.pop()",
                                            "f(x)",
                                            "BYTES(n)",
                                            "p <<= 1",
                                            "a ? b : c",
                                            "[&] { return p; }()",
                                            "new float[4]",
                                            "float* p",
                                            "tables[i](n)",
                                            "(*take)()",
                                            "(f)(n)",
                                            "s.data(4)",
                                            "\"text\"",
                                            "make<int>(n)",
                                            "co_await p"})
        BOOST_TEST(call_at("cudaFree(" + std::string(argument) + ");", 1).pointer == "", argument);
    for (const std::string_view argument :
         {"p", "this->p", "v.data()", "&grid[0]", "p + n * 4", "a[i][j]", "(char*)p + 8",
          "static_cast<void*>(p)", "thrust::raw_pointer_cast(v.data())", "n <= 4", "*p", "(char *)(p + 1)",
          "sizeof x", "1 << 20"})
        BOOST_TEST(call_at("cudaFree(" + std::string(argument) + ");", 1).pointer == argument);
}

BOOST_AUTO_TEST_CASE(names_replace_whole_arguments_alone) {
    const advice::OwnNames names{{"ptr", "data"}, {"bytes", "n * 4"}, {"device", "wrong"}};
    BOOST_TEST(
        advice::in_own_names("the bytes: cudaMemPrefetchAsync(ptr, bytes, {cudaMemLocationTypeDevice, "
                             "device}, 0, stream), or cudaFree(ptr2), f(ptr), and ptr",
                             names) ==
        "the bytes: cudaMemPrefetchAsync(data, n * 4, {cudaMemLocationTypeDevice, device}, 0, stream), or "
        "cudaFree(ptr2), f(ptr), and ptr");
    BOOST_TEST(advice::in_own_names("cuMemsetD32(ptr, 0, bytes / 4)", names) ==
               "cuMemsetD32(data, 0, (n * 4) / 4)");
}

BOOST_AUTO_TEST_CASE(a_prefetch_names_the_memory_and_the_stream_of_the_launch) {
    constexpr std::string_view source = "void work(size_t n) {\n"
                                        "    float* data;\n"
                                        "    CHECK(cudaMallocManaged(&data,\n"
                                        "                            n * sizeof(float)));\n"
                                        "    fill(data);\n"
                                        "    kernel<<<grid, block, 0, s>>>(data);\n"
                                        "}\n";
    const std::string call =
        "cudaMemPrefetchAsync(data, n * sizeof(float), {cudaMemLocationTypeDevice, 0}, 0, s)";
    std::vector<rules::Finding> found = first_touch(source, 3);
    BOOST_TEST(contains(advice_of(found, "UMA-203"), call), advice_of(found, "UMA-203"));
    BOOST_TEST(edits_of(found, "UMA-203") == call + "; ");
    // Names of another function may not be there at all.
    found = first_touch(source, 3, 3);
    BOOST_TEST(contains(advice_of(found, "UMA-203"), "(ptr, bytes, "), advice_of(found, "UMA-203"));
    BOOST_TEST(contains(advice_of(found, "UMA-203"), "0, s)"));
}

BOOST_AUTO_TEST_CASE(names_of_a_block_that_has_ended_or_of_a_round_are_left_out) {
    const std::string ended = "void work(size_t n) {\n"
                              "    if (n) { float* data;\n"
                              "        cudaMallocManaged(&data, n);\n"
                              "    }\n"
                              "\n"
                              "    kernel<<<grid, block>>>(all);\n";
    BOOST_TEST(contains(advice_of(first_touch(ended, 3), "UMA-203"), "(ptr, bytes, "));
    const std::string round = "void work(size_t n) {\n"
                              "    for (int i = 0; i < 4; ++i)\n"
                              "        cudaMallocManaged(&data[i], n);\n"
                              "\n"
                              "\n"
                              "    kernel<<<grid, block>>>(data);\n";
    BOOST_TEST(contains(advice_of(first_touch(round, 3), "UMA-203"), "(ptr, n, "));
}

BOOST_AUTO_TEST_CASE(names_of_a_library_s_source_are_left_out) {
    constexpr std::string_view source = "\n\ncudaMallocManaged(&data, n);\n\n\nkernel<<<1, 1, 0, s>>>(data);\n";
    BOOST_TEST(contains(advice_of(first_touch(source, 3), "UMA-203"), "(data, n, "));
    const std::string library = temporary_path("installed");
    std::filesystem::create_directories(library + "/include/thrust");
    const std::string file = library + "/include/thrust/copy.h";
    std::ofstream(file, std::ios::binary) << source;
    BOOST_TEST(contains(advice_of(first_touch(source, 3, 0, file), "UMA-203"), "(ptr, bytes, "));
}

BOOST_AUTO_TEST_CASE(each_rule_names_what_its_remedy_speaks_of) {
    constexpr std::string_view source = "cudaMemcpy(result, d_from, n, cudaMemcpyDeviceToHost);\n"
                                        "cudaMemcpyAsync(d_to, result, n, cudaMemcpyHostToDevice, s);\n"
                                        "cudaFree(old);\n"
                                        "cudaEventQuery(ready);\n"
                                        "cudaHostAlloc((void**)&mapped, m, cudaHostAllocMapped);\n"
                                        "kernel<<<1, 1, 0, s>>>(mapped);\n"
                                        "kernel<<<1, 1, 0, t>>>(mapped);\n"
                                        "use(mapped);\n";
    Program program(source, "rules.cu");
    advice::Report report(program.packed());
    const auto advised = [&report](std::string_view rule, std::string advice, std::uint64_t line,
                                   const std::vector<std::uint64_t>& places = {}, std::uint64_t allocated = 0) {
        std::vector<rules::Finding> findings(1);
        findings[0].rule = rules::find_rule(rule);
        findings[0].stack = ids::StackId(line);
        findings[0].allocation_stack = ids::StackId(allocated);
        for (const std::uint64_t place : places)
            findings[0].places.emplace_back("", ids::StackId(place));
        findings[0].order_advice = "; and cudaStreamSynchronize(stream)";
        findings[0].advice = std::move(advice) + findings[0].order_advice;
        advice::advise_in_own_names(findings, report.symbolizer);
        BOOST_TEST(findings[0].advice.ends_with(findings[0].order_advice), findings[0].advice);
        return findings[0].advice.substr(0, findings[0].advice.rfind("; and "));
    };
    const std::string copy = "cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)";
    BOOST_TEST(advised("UMA-111", copy, 1, {2}) ==
               "cudaMemcpyAsync(d_to, d_from, n, cudaMemcpyDeviceToDevice, stream)");
    BOOST_TEST(advised("UMA-114", copy, 2, {1}) ==
               "cudaMemcpyAsync(d_to, from, n, cudaMemcpyDeviceToDevice, stream)");
    BOOST_TEST(advised("UMA-105",
                       "cudaMemPrefetchAsync(source, bytes, {cudaMemLocationTypeHost, 0}, 0, stream)",
                       1) == "cudaMemPrefetchAsync(d_from, n, {cudaMemLocationTypeHost, 0}, 0, stream)");
    BOOST_TEST(advised("UMA-108", "cudaMemset(destination, 0, bytes)", 2) == "cudaMemset(d_to, 0, n)");
    BOOST_TEST(advised("UMA-108", "cudaMemset(destination, 0, bytes)", 2, {1}) ==
               "cudaMemset(destination, 0, bytes)"); // of several lines
    BOOST_TEST(advised("UMA-503", "cudaFreeAsync(ptr, stream)", 3) == "cudaFreeAsync(old, stream)");
    BOOST_TEST(advised("UMA-503", "cudaFreeAsync(ptr, stream)", 2) == "cudaFreeAsync(ptr, stream)");
    BOOST_TEST(advised("UMA-504", "cudaEventRecord(event, stream)", 4) == "cudaEventRecord(ready, stream)");
    BOOST_TEST(advised("UMA-121", "cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream)", 6, {},
                       5) == "cudaMemcpyAsync(device, mapped, bytes, cudaMemcpyHostToDevice, stream)");
    BOOST_TEST(advised("UMA-601", "cudaStreamSynchronize(stream)", 8, {6}) == "cudaStreamSynchronize(s)");
    BOOST_TEST(advised("UMA-601", "cudaStreamSynchronize(stream)", 8, {6, 7}) ==
               "cudaStreamSynchronize(stream)"); // of two streams
    BOOST_TEST(advised("UMA-602", "cudaEventRecord(done, stream)", 2) == "cudaEventRecord(done, s)");
    BOOST_TEST(advised("UMA-603", "cudaFreeAsync(memory, stream)", 3) == "cudaFreeAsync(old, stream)");
    BOOST_TEST(advised("UMA-218", "cudaMemPrefetchAsync(ptr, bytes, {}, 0, stream)", 6, {}, 5) ==
               "cudaMemPrefetchAsync(ptr, bytes, {}, 0, stream)");
}

BOOST_AUTO_TEST_CASE(a_report_that_may_take_no_names_from_the_source_takes_none) {
    Program s("cudaMemcpy(d, input, n, cudaMemcpyHostToDevice);", "unnamed.cu");
    s.copy_often(256 * mib, 25 * ms, {.stack = 1});
    const std::string path = s.packed();
    symbols::Options options;
    BOOST_TEST(contains(advice::Report(path, options).findings.at(0).advice, "input"));
    options.source.named = false;
    BOOST_TEST(lacks(advice::Report(path, options).findings.at(0).advice, "input"));
}

BOOST_AUTO_TEST_CASE(a_pageable_buffer_is_named) {
    const auto advice = [](std::string_view source) {
        Program s(source, "pageable.cu");
        s.copy_often(256 * mib, 25 * ms, {.stack = 1});
        return advice_of(s.findings(), "UMA-101");
    };
    BOOST_TEST(advice("cudaMemcpy(d, input, n, cudaMemcpyHostToDevice);")
                   .starts_with("page-lock this buffer (input) once"));
    // Only the buffer as a whole can be page-locked.
    BOOST_TEST(advice("cudaMemcpy(d, input + i, n, cudaMemcpyHostToDevice);")
                   .starts_with("page-lock this buffer once"));
    BOOST_TEST(advice("cudaMemcpy(d, input, n, kind);").starts_with("page-lock this buffer once"));
}

BOOST_AUTO_TEST_SUITE_END()

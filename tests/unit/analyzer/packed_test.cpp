/// What `umadvisor pack` adds to a trace: found again, harmless to those that do not know it, and never
/// believed further than its bytes go.
#include "analyzer/reader/packed_section.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/symbols/packed_symbols.hpp"
#include "command_run.hpp"
#include "every_record.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

BOOST_AUTO_TEST_SUITE(analyzer_packed)

using namespace umadvisor;
using namespace umadvisor::test;
namespace fs = std::filesystem;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t bias = 0x7f00'0000'0000, address = 0x1234;

symbols::CodePlace place(const std::string& function, int line, bool inlined) {
    symbols::CodePlace result{
        .function = function, .file = "/gone/upload.cu", .line = line, .offset = address, .inlined = inlined};
    return result;
}

symbols::PackedSymbols sample() {
    symbols::PackedSymbols packed;
    packed.modules[{"/gone/program", "build-id"}][address] = {place("copy", 7, true),
                                                              place("upload", 41, false)};
    packed.source_lines[{"/gone/upload.cu", 7}] = "cudaMemcpy(to, from, bytes, kind);";
    return packed;
}

/// Pageable copies from a call in a program that is nowhere.
Bytes trace_bytes(bool small = false) {
    Scenario s;
    if (small)
        s.builder.make_small();
    s.builder.add(trace::Module{.id = 900, .bias = bias, .path = "/gone/program", .build_id = "build-id"});
    s.builder.frame(901, 0, bias + address + 1, 900);
    s.copy_often(64 * mib, 20 * ms, {.stack = 901});
    return s.builder.bytes();
}

Bytes contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Bytes with_section(const Bytes& trace, std::string_view content) {
    const std::string path = temporary_file("plain.umtrace", trace);
    Bytes result;
    reader::write_with_section(reader::Source(path), content, [&](std::string_view bytes) {
        result.insert(result.end(), bytes.begin(), bytes.end());
    });
    return result;
}

symbols::PackedSymbols packed_in(const Bytes& trace) {
    return symbols::packed_symbols(reader::Source(temporary_file("packed.umtrace", trace)));
}

bool same(const symbols::PackedSymbols& a, const symbols::PackedSymbols& b) {
    return a.modules == b.modules && a.source_lines == b.source_lines && a.damaged == b.damaged;
}

std::string report(const Bytes& trace) {
    const Result result = run({"report", "--no-cache", temporary_file("reported.umtrace", trace)});
    BOOST_TEST(result.status == 0, result.err);
    return result.out;
}

std::uint32_t header_bytes(const Bytes& trace) {
    std::uint32_t value = 0;
    std::memcpy(&value, trace.data() + offsetof(trace::FileHeader, header_bytes), sizeof value);
    return value;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_packed_is_found_again_and_shown) {
    const Bytes plain = trace_bytes(), packed = with_section(plain, symbols::encode_packed(sample()));
    BOOST_TEST(same(packed_in(packed), sample()));
    BOOST_TEST(packed_in(plain).empty());
    BOOST_TEST(lacks(report(plain), "upload.cu"));
    const std::string shown = report(packed);
    BOOST_TEST(contains(shown, "upload.cu:7 in copy()"));
    BOOST_TEST(contains(shown, "7 |   cudaMemcpy(to, from, bytes, kind);"));
    BOOST_TEST(lacks(shown, "/gone/program: ")); // no warning of a missing file
}

/// A reader that knows nothing of it goes from the header to where it says the chunks begin.
BOOST_AUTO_TEST_CASE(all_else_is_as_it_was) {
    for (const bool small : {false, true}) {
        const Bytes plain = trace_bytes(small), packed = with_section(plain, symbols::encode_packed(sample()));
        const auto begin = [](const Bytes& trace) {
            return trace.begin() + static_cast<std::ptrdiff_t>(header_bytes(trace));
        };
        BOOST_TEST(header_bytes(packed) % 4096 == 0u);
        BOOST_TEST(std::equal(begin(plain), plain.end(), begin(packed), packed.end()));
        Bytes header(packed.begin(), packed.begin() + header_bytes(plain));
        std::copy_n(plain.begin() + offsetof(trace::FileHeader, header_bytes), 4,
                    header.begin() + offsetof(trace::FileHeader, header_bytes));
        BOOST_TEST(std::equal(header.begin(), header.end(), plain.begin()));
    }
}

BOOST_AUTO_TEST_CASE(packed_again_it_has_one_section) {
    const Bytes plain = trace_bytes(), once = with_section(plain, symbols::encode_packed(sample()));
    BOOST_TEST(with_section(once, symbols::encode_packed(sample())) == once);
    symbols::PackedSymbols more = sample();
    more.source_lines[{"/gone/upload.cu", 41}] = "copy();";
    BOOST_TEST(same(packed_in(with_section(once, symbols::encode_packed(more))), more));
}

BOOST_AUTO_TEST_CASE(damage_is_noticed_and_told) {
    const Bytes plain = trace_bytes(true), packed = with_section(plain, symbols::encode_packed(sample()));
    for (std::size_t at = header_bytes(plain); at < header_bytes(packed); ++at) {
        Bytes bytes = packed;
        bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ 0x10);
        const symbols::PackedSymbols read = packed_in(bytes);
        BOOST_TEST(read.empty(), at);
        BOOST_TEST((read.damaged || at >= header_bytes(packed) - 8), at); // without its mark it is none
    }
    Bytes bytes = packed;
    bytes[header_bytes(plain)] ^= 1;
    const std::string shown = report(bytes);
    BOOST_TEST(contains(shown, "packed into the trace are damaged"));
    BOOST_TEST(contains(shown, "UMA-101"));
    // Packed anew, it is whole again.
    BOOST_TEST(same(packed_in(with_section(bytes, symbols::encode_packed(sample()))), sample()));
}

BOOST_AUTO_TEST_CASE(a_trace_that_was_cut_says_the_same_losses) {
    const Bytes whole = trace_bytes();
    const auto losses = [](const std::string& text) { return text.substr(0, text.find("UMA-")); };
    for (const std::size_t size : {whole.size() - 1, whole.size() - 70'000, std::size_t{header_bytes(whole)},
                                   std::size_t{header_bytes(whole)} - 100, std::size_t{128}}) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const Bytes packed = with_section(cut, symbols::encode_packed(sample()));
        BOOST_TEST(losses(report(packed)) == losses(report(cut)), size);
    }
}

BOOST_AUTO_TEST_CASE(numbers_with_a_right_checksum_are_not_believed_either) {
    const std::string whole = symbols::encode_packed(sample());
    for (std::size_t at = 0; at + 8 <= whole.size(); ++at)
        for (const char byte : {'\x7f', '\xff'}) {
            std::string bytes = whole;
            bytes.replace(at, 8, std::string(8, byte));
            const symbols::PackedSymbols read = symbols::decode_packed(bytes);
            BOOST_TEST(read.modules.size() <= 1u, at);
            BOOST_TEST(read.source_lines.size() <= 1u, at);
            symbols::decode_packed(whole.substr(0, at));
        }
    BOOST_TEST(symbols::decode_packed(whole.substr(0, whole.size() - 1)).damaged);
    BOOST_TEST(!symbols::decode_packed(whole + "later additions").damaged);
}

BOOST_AUTO_TEST_CASE(names_that_upset_a_terminal_do_not_reach_it) {
    symbols::PackedSymbols hostile = sample();
    hostile.source_lines[{"/gone/upload.cu", 7}] = "\t\x1b[2J\xff" + std::string(5000, 'x');
    const std::string shown = report(with_section(trace_bytes(), symbols::encode_packed(hostile)));
    BOOST_TEST(shown.find('\x1b') == std::string::npos);
    BOOST_TEST(shown.find(std::string(300, 'x')) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_command_packs_what_it_finds) {
    const Bytes packed = with_section(trace_bytes(), symbols::encode_packed(sample()));
    const std::string path = temporary_file("first.umtrace", packed);
    const std::string again = temporary_path("again.umtrace");
    fs::remove(again);
    const Result result = run({"pack", path, "-o", again, "--source", "--no-cache"});
    BOOST_TEST(result.status == 0, result.err);
    BOOST_TEST(result.err == "");
    BOOST_TEST(result.out == "");
    BOOST_TEST(same(packed_in(contents(again)), sample()));
    struct stat status {};
    BOOST_TEST(::stat(again.c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 0777) == 0600u);

    // Nothing is known of the program: the trace is whole all the same, and why it has no lines is said.
    const std::string plain = temporary_file("plain.umtrace", trace_bytes());
    check_one_line(run({"pack", plain, "-o", again, "-f", "--no-cache"}), 0, "no line numbers for program");
    BOOST_TEST(report(contents(again)) == report(contents(plain)));
}

BOOST_AUTO_TEST_CASE(a_damaged_trace_is_packed_as_far_as_it_goes) {
    Bytes bytes = trace_bytes();
    bytes.resize(bytes.size() - trace::chunk_bytes + sizeof(trace::ChunkHeader) + 20); // inside a record
    const std::string path =
        temporary_file("cut.umtrace", with_section(bytes, symbols::encode_packed(sample())));
    const std::string output = temporary_path("of-cut.umtrace");
    fs::remove(output);
    check_one_line(run({"pack", path, "-o", output, "--no-cache"}), 0, "cut");
    BOOST_TEST(contents(output) == contents(path));
}

BOOST_AUTO_TEST_CASE(outputs_that_are_refused) {
    const std::string path = temporary_file("input.umtrace", trace_bytes());
    const std::string other = temporary_file("other", {1, 2, 3});
    const std::string link = temporary_path("link");
    fs::remove(link);
    fs::create_symlink(path, link);
    const Bytes before = contents(path);
    check_one_line(run({"pack", path}), 2, "-o FILE");
    check_one_line(run({"pack", path, "-o", other}), 1, "exists already; -f replaces it");
    check_one_line(run({"pack", path, "-f", "-o", path}), 1, "is the trace itself");
    check_one_line(run({"pack", path, "-f", "-o", link}), 1, "is the trace itself");
    check_one_line(run({"pack", path, "-f", "-o", fs::path(path).parent_path().string()}), 1,
                   "not a regular file");
    check_one_line(run({"pack", path, "-o", "/nowhere/x"}), 1, "No such file");
    check_one_line(run({"pack", "/nowhere/x", "-o", other + "2"}), 1, "No such file");
    check_one_line(run({"pack", other, "-f", "-o", other + "2"}), 1, "is not a umadvisor trace");
    BOOST_TEST(!fs::exists(other + "2"));
    BOOST_TEST(contents(path) == before);
    BOOST_TEST((contents(other) == Bytes{1, 2, 3}));
}

BOOST_AUTO_TEST_SUITE_END()

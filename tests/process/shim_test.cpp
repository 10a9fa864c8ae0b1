/// What the shim's file may need and show.
#include "process.hpp"

#include <algorithm>
#include <fstream>
#include <link.h>
#include <set>
#include <string_view>

BOOST_FIXTURE_TEST_SUITE(process_shim_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

std::set<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

const std::string listed =
    "sed -n 's/^API[_A-Z]*(\\([A-Za-z0-9_]*\\).*/\\1/p' '" UMADVISOR_SOURCE "/interposer/driver_api.def'";

std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

} // namespace

BOOST_AUTO_TEST_CASE(needs_nothing_but_libc) {
    const auto needed =
        words(run(folder, "readelf -d " + shim + " | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p'").out);
    const std::set<std::string> allowed{"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
    BOOST_TEST(!needed.empty());
    for (const std::string& library : needed)
        BOOST_TEST(allowed.count(library) == 1u, library);
}

BOOST_AUTO_TEST_CASE(needs_no_symbol_newer_than_glibc_2_34) {
    const auto versions = words(run(folder, "objdump -T " + shim + " | grep -o 'GLIBC_[0-9.]*' | sort -u").out);
    BOOST_TEST(!versions.empty());
    for (const std::string& version : versions) {
        const int minor = std::stoi(version.substr(std::string("GLIBC_2.").size()));
        BOOST_TEST(minor <= 34, version);
    }
}

/// The C++ library throws where its precondition is broken, and without exceptions that ends the program.
BOOST_AUTO_TEST_CASE(has_nothing_in_it_that_ends_the_program) {
    const auto symbols = words(run(folder, "nm " + shim + " | sed 's/.* //; s/@.*//'").out);
    BOOST_TEST(symbols.count("umadvisor_real_table") == 1u); // or it was stripped, and this test sees nothing
    for (const std::string& symbol : symbols) {
        const auto begins = [&](std::string_view with) { return symbol.rfind(with, 0) == 0; };
        const bool allocates = begins("_Znw") || begins("_Zna") || begins("_Zdl") || begins("_Zda");
        const bool throws = begins("_ZSt") && symbol.find("throw") != std::string::npos;
        const bool ends = symbol == "abort" || symbol == "exit" || symbol == "_exit" ||
                          symbol == "quick_exit" || begins("_ZSt9terminate") || begins("__cxa_pure_virtual");
        BOOST_TEST(!(allocates || throws || ends || begins("__cxa_throw") || begins("__gxx_personality")),
                   symbol);
    }
}

/// The loader cuts it from the stack of every thread, also of those that have 16 KiB.
BOOST_AUTO_TEST_CASE(has_little_thread_local_storage) {
    std::ifstream file(shim, std::ios::binary);
    ElfW(Ehdr) header{};
    BOOST_TEST_REQUIRE(file.read(reinterpret_cast<char*>(&header), sizeof header).good());
    std::size_t segments = 0, bytes = 0;
    for (; segments < header.e_phnum; ++segments) {
        ElfW(Phdr) segment{};
        file.seekg(static_cast<std::streamoff>(header.e_phoff + segments * header.e_phentsize));
        BOOST_TEST_REQUIRE(file.read(reinterpret_cast<char*>(&segment), sizeof segment).good());
        if (segment.p_type == PT_TLS)
            bytes = segment.p_memsz;
    }
    BOOST_TEST(segments != 0u);
    BOOST_TEST(bytes != 0u); // or it is looked for in the wrong place
    BOOST_TEST(bytes < 256u);
}

/// Bare they end well; what is added must fit into what is left.
BOOST_AUTO_TEST_CASE(threads_with_the_smallest_stack_work) {
    for (const std::string first : {"", " first"}) {
        const std::string program = programs + "/thin_thread" + first;
        const Outcome bare = run_sim(folder, program);
        BOOST_TEST_REQUIRE(bare.status == 0, bare.out << bare.err);
        for (const std::string act : {"", "prefetch", "relieve", "rewrite=all", "stage", "auto"}) {
            const Outcome outcome = record(folder, program, act.empty() ? "" : "--act " + act);
            BOOST_TEST(same(outcome, bare), act << first << outcome.err);
            // 12 rounds of two allocations, and two times 16 launches between a copy and another.
            BOOST_TEST(dump(folder, "Launch").size() == 12u * 2 * 16, act << first);
            BOOST_TEST(dump(folder, "Copy").size() == 12u * 2 * 2, act << first);
            BOOST_TEST(dump(folder, "Free").size() == 12u * 2, act << first);
        }
    }
}

BOOST_AUTO_TEST_CASE(readme_says_which_glibc_is_needed) {
    const std::string readme = read(UMADVISOR_SOURCE "/README.md");
    for (const auto& [file, name] : {std::pair{shim, "the shim "}, {advisor, "the analyzer "}}) {
        const std::string newest =
            run(folder,
                "objdump -T " + file + " | grep -o 'GLIBC_2[0-9.]*' | sort -uV | tail -n 1 | tr -d '\n'")
                .out;
        BOOST_TEST_REQUIRE(newest.starts_with("GLIBC_"), newest);
        BOOST_TEST(says(readme, name + newest.substr(6) + " or newer"), name << newest);
    }
}

BOOST_AUTO_TEST_CASE(exports_the_list_and_dlsym) {
    auto expected = words(run(folder, listed).out);
    BOOST_TEST(expected.size() > 637u);
    expected.insert("dlsym");
    expected.insert("InitializeInjectionNvtx2");
    const auto exported =
        words(run(folder, "nm -D --defined-only " + shim + " | awk '{print $3}' | sed 's/@.*//'").out);
    BOOST_TEST((exported == expected));
}

BOOST_AUTO_TEST_CASE(the_list_covers_the_stub_library) {
    const auto stub = words(run(folder, "nm -D --defined-only '" UMADVISOR_STUB "' | awk '{print $3}'").out);
    BOOST_TEST(!stub.empty());
    const auto covered = words(run(folder, listed).out);
    for (const std::string& symbol : stub)
        BOOST_TEST(covered.count(symbol) == 1u, symbol);
    // And the reverse, but for what only the driver itself exports.
    std::set<std::string> declared = covered;
#define API(symbol, handling)
#define API_UNDECLARED(symbol) declared.erase(#symbol);
#define API_NEWER(symbol, version, handling) declared.erase(#symbol);
#include "interposer/driver_api.def"
    BOOST_TEST(declared.size() > 600u);
    for (const std::string& symbol : declared)
        BOOST_TEST(stub.count(symbol) == 1u, symbol << " is no export");
}

BOOST_AUTO_TEST_CASE(what_moves_memory_is_recorded_or_counted_for_a_reason) {
    constexpr std::string_view working[] = {
        "Memcpy",      "Memset",     "Alloc",         "Free",   "Map",
        "Launch",      "Prefetch",   "Discard",       "Upload", "Bind",
        "ArrayCreate", "Decompress", "Array3DCreate", "Attach", "ImportExternalMemory"};
    // Those ask, or describe: cuTensorMap* write a description of memory, nodes are run by cuGraphLaunch.
    constexpr std::string_view asking[] = {"Get", "TensorMap", "SetMapFlags", "Node", "cuCtxAttach"};
    const auto has = [](std::string_view symbol, const auto& words) {
        return std::any_of(std::begin(words), std::end(words), [symbol](std::string_view word) {
            return symbol.find(word) != std::string_view::npos;
        });
    };
    std::size_t working_entries = 0;
    const auto check = [&](std::string_view symbol, std::string_view handling, std::string_view reason) {
        if (!has(symbol, working) || has(symbol, asking))
            return;
        ++working_entries;
        BOOST_TEST((handling != "counted" || reason.size() > 20), symbol << " is counted for no reason");
    };
#define API(symbol, handling) check(#symbol, #handling, "");
#define API_COUNTED(symbol, reason) check(#symbol, "counted", reason);
#define API_NEWER_COUNTED(symbol, version, reason) API_COUNTED(symbol, reason)
#define API_UNDECLARED(symbol)
#include "interposer/driver_api.def"
    BOOST_TEST(working_entries > 150u);
}

BOOST_AUTO_TEST_CASE(the_documents_tell_what_is_recorded) {
    const std::string document = read(UMADVISOR_SOURCE "/docs/recording.md");
    std::istringstream table(run(folder, advisor + " help coverage").out);
    std::size_t rows = 0;
    for (std::string row; std::getline(table, row); ++rows)
        BOOST_TEST(says(document, row), "docs/recording.md lacks: " << row);
    BOOST_TEST(rows > 15u);
}

BOOST_AUTO_TEST_CASE(is_not_noticed_where_there_is_no_cuda) {
    const Outcome outcome =
        run(folder, "LD_PRELOAD=" + shim + " python3 -c 'import ctypes, threading; print(sum(range(10)))'");
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(outcome.out == "45\n");
    BOOST_TEST(outcome.err == "");
}

BOOST_AUTO_TEST_CASE(documents_and_help_have_every_setting) {
    const std::string document = read(UMADVISOR_SOURCE "/docs/settings.md");
    const std::string help = run(folder, advisor + " help env").out;
    std::size_t settings = 0;
#define OPTION(name, type, member, default_value, text)                                                        \
    ++settings;                                                                                                \
    BOOST_TEST(says(document, "| `UMADVISOR_" #name "` | " #type " | "), #name);                               \
    BOOST_TEST(says(document, text), #name);                                                                   \
    BOOST_TEST(says(help, "UMADVISOR_" #name), #name);
#include "interposer/runtime/options.def"
    BOOST_TEST(settings > 0u);
}

BOOST_AUTO_TEST_CASE(the_documents_tell_every_bound) {
    const std::string document = read(UMADVISOR_SOURCE "/docs/recording.md");
    std::size_t bounds = 0;
#define BOUND(name, most, what, rest)                                                                          \
    ++bounds;                                                                                                  \
    BOOST_TEST(says(document, "| " what " | " + std::to_string(most) + " | " rest " |"), what);
#include "interposer/record/bounds.def"
#undef BOUND
    BOOST_TEST(bounds > 10u);
}

/// What the shim repeats of names and settings is shown on a terminal, not obeyed, and ends no line.
BOOST_AUTO_TEST_CASE(its_lines_are_lines) {
    const std::string name = "$'x\\033]0;owned\\a\\nFORGED\\xc2\\x9b2J\\x9b\\xe2\\x80\\xae.umtrace'";
    for (const std::string& settings :
         {"UMADVISOR_OUTPUT=" + name, "UMADVISOR_OUTPUT=/nowhere/" + name,
          "UMADVISOR_ACT=plan=" + name + " UMADVISOR_OUTPUT=y.umtrace", "UMADVISOR_STACKS=" + name}) {
        const Outcome outcome =
            run_sim(folder, "exec bash -c " + quoted("LD_PRELOAD='" + shim + "' " + settings + " " + sim +
                                                     "pingpong --mib 1"));
        BOOST_TEST(ends(outcome, 0, "umadvisor: "));
        BOOST_TEST(lacks(outcome.err, "\nFORGED"));
        const std::string_view controls("\033\a\r\x9b\xae");
        BOOST_TEST(outcome.err.find_first_of(controls) == std::string::npos, outcome.err);
        BOOST_TEST(says(outcome.err, "x?]0;owned??FORGED?2J??.umtrace"));
    }
}

BOOST_AUTO_TEST_SUITE_END()

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/reports/weighed_stacks.hpp"
#include "analyzer/symbols/demangle.hpp"
#include "analyzer/symbols/pointer_parameters.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "scenario.hpp"
#include "text.hpp"

#include <boost/test/unit_test.hpp>
#include <climits>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <unistd.h>

using namespace umadvisor;
using namespace umadvisor::test;
using symbols::CodePlace;

namespace {

struct Self {
    std::uint64_t bias = 0;
    std::string path, build_id;
};

int find_self(dl_phdr_info* info, std::size_t, void* out) {
    Self& self = *static_cast<Self*>(out);
    self.bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type != PT_NOTE)
            continue;
        const char* at = reinterpret_cast<const char*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        const char* const end = at + info->dlpi_phdr[i].p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* data = name + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && std::strcmp(name, "GNU") == 0)
                self.build_id.assign(data, note.n_descsz);
            at = data + (note.n_descsz + 3) / 4 * 4;
        }
    }
    return 1; // the first object is the program itself
}

Self self() {
    Self result;
    ::dl_iterate_phdr(&find_self, &result);
    char path[PATH_MAX] = {};
    BOOST_REQUIRE(::readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    result.path = path;
    return result;
}

/// "_" for 0, then the numbers from 0 on: how both manglings count what they refer to.
std::string reference(std::size_t number, std::string_view digits) {
    std::string text = "_";
    if (number == 0)
        return text;
    std::size_t left = number - 1;
    do
        text.insert(text.begin(), digits[left % digits.size()]);
    while ((left /= digits.size()) != 0);
    return text;
}

/// The part of a C++ name that was numbered so.
std::string substitution(std::size_t number) {
    return "S" + reference(number, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/// The part of a Rust name that begins there.
std::string back_reference(std::size_t position) {
    return "B" + reference(position, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/// Types of a C++ name, each of them twice the one before.
std::string doubling(std::size_t times) {
    std::string types = "1aIiE";
    for (std::size_t i = 0; i < times; ++i)
        types += "1bI" + substitution(2 * i + 1) + substitution(2 * i + 1) + "E";
    return types;
}

__attribute__((noinline)) std::uint64_t here() {
    return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}

/// Stands for a runtime that is linked into the program: what it calls has names of its own.
__attribute__((noinline)) std::uint64_t copy_engine() {
    const std::uint64_t address = here();
    asm volatile("" ::: "memory");
    return address;
}
std::vector<std::uint64_t> runtime_stack;
__attribute__((noinline)) void cudaPretendCopy() {
    runtime_stack = {copy_engine(), here()};
    asm volatile("" ::: "memory");
}
__attribute__((noinline)) void user_upload() {
    cudaPretendCopy();
    runtime_stack.push_back(here());
}

std::uint64_t caller_line = 0;
__attribute__((noinline)) std::uint64_t known_function() {
    caller_line = __LINE__ + 1;
    const std::uint64_t address = here();
    asm volatile("" ::: "memory"); // no tail call
    return address;
}

inline __attribute__((always_inline)) std::uint64_t inlined_function() {
    const std::uint64_t address = here();
    asm volatile("" ::: "memory");
    return address;
}
std::uint64_t outer_line = 0;
__attribute__((noinline)) std::uint64_t outer_function() {
    outer_line = __LINE__ + 1;
    const std::uint64_t address = inlined_function();
    asm volatile("" ::: "memory");
    return address;
}

/// The first module of a trace.
void add_module(TraceBuilder& builder, const Self& file) {
    trace::Module module{
        .id = 1, .bias = file.bias, .last = ~0ull, .path = file.path, .build_id = file.build_id};
    builder.add(module);
}

/// A trace whose only stack has these frames, the innermost first; with `copied` something is copied there.
std::string stack_of(const std::vector<std::uint64_t>& addresses, const Self& module, bool copied = false) {
    TraceBuilder builder;
    add_module(builder, module);
    for (std::size_t i = 0; i < addresses.size(); ++i)
        builder.frame(i + 1, i + 1 < addresses.size() ? i + 2 : 0, addresses[i], 1);
    if (copied) {
        trace::Copy copy{.bytes = 1000};
        copy.stack = 1;
        builder.add(copy);
    }
    return builder.written("symbols");
}

} // namespace

BOOST_AUTO_TEST_CASE(line_and_function_of_a_call_in_this_program) {
    const std::uint64_t address = known_function();
    reader::Trace trace(stack_of({address}, self()));
    symbols::Symbolizer symbolizer(trace.dictionary);
    const CodePlace place = symbolizer.line(ids::StackId(1));
    BOOST_TEST(place.text() == "symbols_test.cpp:" + std::to_string(caller_line) + " in known_function()");
    BOOST_TEST(symbolizer.source_text(place) == "const std::uint64_t address = here();");
    BOOST_TEST(symbolizer.warnings().empty());
}

BOOST_AUTO_TEST_CASE(a_frame_without_a_parent_may_stand_for_an_instruction) {
    // As the code of a host fault does, one byte after the instruction: here the call itself, a byte before
    // the address that it returns to.
    const std::uint64_t instruction = known_function() - 1;
    reader::Trace trace(stack_of({instruction + 1}, self()));
    symbols::Symbolizer symbolizer(trace.dictionary);
    BOOST_TEST(symbolizer.line(ids::StackId(1)).line == static_cast<int>(caller_line));
    BOOST_TEST(symbolizer.line(ids::StackId(1)).offset == instruction - self().bias);
    BOOST_TEST(symbolizer.line_stack(ids::StackId(1)) == 1u);

    // The very first instruction of a function is not the line before it.
    const auto start = reinterpret_cast<std::uint64_t>(&known_function);
    reader::Trace first(stack_of({start + 1}, self()));
    symbols::Symbolizer of_first(first.dictionary);
    BOOST_TEST(of_first.line(ids::StackId(1)).function == "known_function",
               of_first.line(ids::StackId(1)).text());
}

BOOST_AUTO_TEST_CASE(what_a_linked_in_runtime_calls_is_not_the_line) {
    user_upload();
    // here() gave places inside these functions: the innermost is copy_engine, then cudaPretendCopy, then
    // user_upload.
    reader::Trace trace(stack_of(runtime_stack, self()));
    symbols::Symbolizer symbolizer(trace.dictionary);
    BOOST_TEST(symbolizer.places(ids::StackId(1)).front().function == "copy_engine");
    BOOST_TEST(symbolizer.line(ids::StackId(1)).function == "user_upload",
               symbolizer.line(ids::StackId(1)).text());
}

BOOST_AUTO_TEST_CASE(what_a_linked_in_runtime_calls_is_in_no_flame_graph) {
    user_upload();
    reader::Trace trace(stack_of(runtime_stack, self(), true));
    const rules::Profile profile(trace);
    symbols::Symbolizer symbolizer(trace.dictionary);
    const auto functions = [&](bool full) {
        std::string text;
        const reports::WeighedStacks stacks =
            reports::weighed_stacks(profile, symbolizer, reports::Weight::copied, full);
        for (const CodePlace& frame : stacks.stacks.at(0).frames)
            text += frame.function.string() + " ";
        return text;
    };
    BOOST_TEST(contains(functions(true), "user_upload cudaPretendCopy copy_engine "));
    BOOST_TEST(functions(false).ends_with("user_upload unknown "), functions(false));
}

BOOST_AUTO_TEST_CASE(lines_of_a_large_table_are_kept) {
    // 10,000 stacks of 250 Python frames in code with a table of 1 MB: the table is gone through once.
    constexpr std::uint64_t depth = 250, stacks = 10'000;
    const std::string table(1'000'000, '\x01'); // one instruction a byte pair, one line further
    reader::Dictionary dictionary;
    trace::PythonCode code{.id = 1, .format = trace::LineTable::ranges, .lines = table};
    dictionary.python_codes[1] = code;
    for (std::uint64_t id = 1; id <= depth; ++id) {
        trace::PythonFrame frame{.id = id, .parent = id - 1, .code = 1, .instruction = 499'000 + id};
        dictionary.python_frames[id] = frame;
    }
    symbols::PythonLines lines(dictionary);
    for (std::uint64_t i = 0; i < stacks; ++i) {
        const auto places = symbols::python_stack(dictionary, lines, depth);
        BOOST_TEST_REQUIRE(places.size() == depth);
        BOOST_TEST_REQUIRE(places.front().line == 499'000 + static_cast<int>(depth) + 1);
    }
}

BOOST_AUTO_TEST_CASE(the_stub_of_a_kernel_is_not_the_line_of_its_launch) {
    // copy_engine stands for the stub that nvcc makes, user_upload for the function with the <<<>>>.
    user_upload();
    const Self file = self();
    TraceBuilder builder;
    add_module(builder, file);
    builder.add(trace::Function{.id = 1, .symbol = "_Z11copy_enginev"});
    builder.frame(1, 2, runtime_stack.front(), 1).frame(2, 0, runtime_stack.back(), 1);
    reader::Trace trace(builder.written("stub"));
    symbols::Symbolizer symbolizer(trace.dictionary);
    BOOST_TEST(symbolizer.places(ids::StackId(1)).front().function == "copy_engine");
    BOOST_TEST(symbolizer.line(ids::StackId(1)).function == "user_upload",
               symbolizer.line(ids::StackId(1)).text());
}

BOOST_AUTO_TEST_CASE(inlined_frames_are_shown_with_their_callers) {
    const std::uint64_t address = outer_function();
    reader::Trace trace(stack_of({address}, self()));
    symbols::Symbolizer symbolizer(trace.dictionary);
    const auto places = symbolizer.places(ids::StackId(1));
    BOOST_REQUIRE(places.size() == 2u);
    BOOST_TEST(places[0].inlined);
    BOOST_TEST(places[0].function.view().ends_with("inlined_function"), places[0].function);
    BOOST_TEST(places[1].function.view().ends_with("outer_function"), places[1].function);
    BOOST_TEST(places[1].line == static_cast<int>(outer_line));
    BOOST_TEST(!places[1].inlined);
}

BOOST_AUTO_TEST_CASE(stacks_of_one_line_are_taken_together) {
    const std::uint64_t address = known_function(), other = outer_function();
    // Stack 1 is this line, called from elsewhere; stack 2 is that elsewhere; stack 4 is the line again.
    TraceBuilder builder;
    const Self here_file = self();
    add_module(builder, here_file);
    builder.frame(1, 2, address, 1).frame(2, 0, other, 1).frame(4, 0, address, 1);
    reader::Trace trace(builder.written("lines"));
    symbols::Symbolizer symbolizer(trace.dictionary);
    BOOST_TEST(symbolizer.line_stack(ids::StackId(1)) == 1u);
    BOOST_TEST(symbolizer.line_stack(ids::StackId(2)) == 2u);
    BOOST_TEST(symbolizer.line_stack(ids::StackId(4)) == 1u);
}

BOOST_AUTO_TEST_CASE(changed_binary_gives_offsets_and_a_warning) {
    const std::uint64_t address = known_function();
    Self other = self();
    BOOST_REQUIRE(!other.build_id.empty());
    other.build_id[0] = static_cast<char>(other.build_id[0] + 1);
    reader::Trace trace(stack_of({address}, other));
    symbols::Symbolizer symbolizer(trace.dictionary);
    const CodePlace place = symbolizer.line(ids::StackId(1));
    BOOST_TEST(place.file.empty());
    BOOST_TEST(place.offset == address - 1 - other.bias);
    BOOST_TEST(place.text().starts_with("analyzer_symbols+0x"), place.text());
    BOOST_REQUIRE(symbolizer.warnings().size() == 1u);
    BOOST_TEST(contains(symbolizer.warnings()[0], "build id"));
}

BOOST_AUTO_TEST_CASE(missing_binary_gives_offsets) {
    Self gone = self();
    gone.path = "/nowhere/program";
    reader::Trace trace(stack_of({gone.bias + 0x1235}, gone));
    symbols::Symbolizer symbolizer(trace.dictionary);
    BOOST_TEST(symbolizer.line(ids::StackId(1)).text() == "program+0x1234");
    BOOST_TEST(symbolizer.warnings().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_device_file_as_module_does_not_hang) {
    Self odd = self();
    for (const char* path : {"/dev/zero", "/dev/null", "/"}) {
        odd.path = path;
        reader::Trace trace(stack_of({odd.bias + 0x1235}, odd));
        symbols::Symbolizer symbolizer(trace.dictionary);
        BOOST_TEST(symbolizer.line(ids::StackId(1)).offset == 0x1234u);
    }
}

BOOST_FIXTURE_TEST_CASE(frames_that_go_round_in_a_circle_end, TraceBuilder) {
    frame(1, 2, 0).frame(2, 1, 0);
    reader::Trace trace(written("circle"));
    symbols::Symbolizer symbolizer(trace.dictionary);
    BOOST_TEST(symbolizer.places(ids::StackId(1)).size() <= 1024u);
    symbolizer.line(ids::StackId(1));
}

BOOST_AUTO_TEST_CASE(names_are_demangled_and_cut) {
    BOOST_TEST(symbols::demangle("_Z5saxpyIfEvPT_i") == "void saxpy<float>(float*, int)");
    BOOST_TEST(symbols::short_name("_Z5saxpyIfEvPT_i") == "saxpy<float>");
    BOOST_TEST(symbols::short_name("_ZN2at6native12_GLOBAL__N_14fillEPf") == "at::native::fill");
    BOOST_TEST(symbols::short_name("plain_kernel") == "plain_kernel");
    BOOST_TEST(symbols::short_name("_Znonsense") == "_Znonsense");
    BOOST_TEST(symbols::short_name("") == "");
}

BOOST_AUTO_TEST_CASE(a_name_whose_substitutions_double_stays_mangled) {
    BOOST_TEST(symbols::demangle("_Z1f" + doubling(2)) ==
               "f(a<int>, b<a<int>, a<int> >, b<b<a<int>, a<int> >, b<a<int>, a<int> > >)");
    for (const std::size_t times : {16, 28}) { // 28: 107 MB
        const std::string symbol = "_Z1f" + doubling(times);
        BOOST_TEST(symbols::demangle(symbol) == symbol);
        BOOST_TEST(symbols::short_name(symbol) == symbol);
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_repeats_a_long_template_argument_stays_mangled) {
    std::string symbol = "_Z1fI1gIJ";
    for (int i = 0; i < 100; ++i)
        symbol += "cd";
    symbol += "EEEv";
    BOOST_TEST(symbols::demangle(symbol + "T_").size() > 1000u);
    for (int i = 0; i < 100; ++i)
        symbol += "T_"; // one node of the tree each, and a thousand characters
    BOOST_TEST(symbols::demangle(symbol) == symbol);
}

BOOST_AUTO_TEST_CASE(a_search_for_a_pack_ends) {
    // The demangler goes through the whole pattern before it prints anything.
    std::string pattern = "1aIiE";
    for (int i = 0; i < 60; ++i)
        pattern = "1bI" + pattern;
    for (std::size_t i = 0; i < 60; ++i)
        pattern += substitution(62 + i) + "E";
    const std::string symbol = "_Z1fIJEEvDp" + pattern;
    BOOST_TEST(symbols::demangle(symbol) == symbol);
}

BOOST_AUTO_TEST_CASE(a_rust_name_whose_references_double_stays_mangled) {
    const auto doubled = [](int times) {
        std::string symbol = "_RINvC1a1b";
        std::size_t last = symbol.size();
        symbol += "TuuE";
        for (int i = 0; i < times; ++i) {
            const std::string before = back_reference(last - 2);
            last = symbol.size();
            symbol += "T" + before + before + "E";
        }
        return symbol + "E";
    };
    BOOST_TEST(symbols::demangle(doubled(1)) == "a::b::<((), ()), (((), ()), ((), ()))>");
    for (const int times : {14, 40})
        BOOST_TEST(symbols::demangle(doubled(times)) == doubled(times));
}

BOOST_AUTO_TEST_CASE(a_rust_name_with_countless_lifetimes_stays_mangled) {
    // In the path of an impl they are counted and not printed.
    BOOST_TEST(symbols::demangle("_RMICs_3fooFG_EuEm") == "<u32>");
    for (const char* symbol : {"_RMICs_3fooFGzzzzzzzzzz_EuEm", "_RMICs_3fooDGzzzzzzzzzz_C1aEL_Em"})
        BOOST_TEST(symbols::demangle(symbol) == symbol);
}

BOOST_AUTO_TEST_CASE(rust_names_of_both_manglings) {
    // From the specification of the v0 mangling, and the older form with its hash.
    BOOST_TEST(symbols::demangle("_RNvCskwGfYPst2Cb_3foo16example_function") == "foo::example_function");
    BOOST_TEST(symbols::demangle("_RINvNtC3std3mem8align_ofdE") == "std::mem::align_of::<f64>");
    BOOST_TEST(
        symbols::short_name("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate") ==
        "<std::path::PathBuf>::new");
    BOOST_TEST(symbols::short_name("_RNvXs_C7mycrateNtB4_3FooNtNtC4core3fmt7Display3fmt") ==
               "<mycrate::Foo as core::fmt::Display>::fmt");
    BOOST_TEST(symbols::short_name("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE") ==
               "core::fmt::Formatter::pad");
    // C++ keeps what only looks like a hash.
    BOOST_TEST(symbols::short_name("_ZN3app17h0000000000000000E") == "app::h0000000000000000");
    BOOST_TEST(symbols::short_name("_Rnonsense") == "_Rnonsense");
    BOOST_TEST(symbols::demangle(std::string(1 << 20, 'R').insert(0, "_R")).starts_with("_RRRR"));
}

BOOST_AUTO_TEST_CASE(what_a_kernel_may_write_by_the_types_of_its_parameters) {
    using Pointers = std::vector<bool>;
    const auto of = [](std::string_view symbol) { return symbols::const_pointers(symbol); };
    BOOST_TEST((of("_Z5triadPKfS0_Pff") == Pointers{true, true, false}));
    BOOST_TEST((of("_Z4copyIfEvPKT_PS0_i") == Pointers{true, false}));
    BOOST_TEST((of("_Z4loadPVKi") == Pointers{false})); // const and volatile: another may write it
    BOOST_TEST((of("_Z3sumN6thrust10device_ptrIKfEEPf") == Pointers{true, false})); // of constants
    BOOST_TEST((of("_Z3sumN6thrust10device_ptrIfEEPf") == Pointers{false, false}));
    BOOST_TEST((of("_Z3sumSt4spanIKfLm18446744073709551615EEPf") == Pointers{true, false}));
    BOOST_TEST((of("_Z3bfs9GraphViewIKiE") == std::nullopt)); // which may hold others beside
    BOOST_TEST((of("_Z3sum7ComplexIfEPf") == std::nullopt));
    BOOST_TEST((of("_Z5emptyv") == Pointers{}));
    BOOST_TEST((of("_Z4walkPKPKf") == std::nullopt));       // by pointers in memory
    BOOST_TEST((of("_Z5applyPKf6Buffer") == std::nullopt)); // a structure may hold pointers
    BOOST_TEST((of("kernel") == std::nullopt));
}

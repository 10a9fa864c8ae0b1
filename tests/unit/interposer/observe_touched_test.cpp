#include "interposer/observe/functions.hpp"
#include "interposer/observe/module_variables.hpp"
#include "interposer/observe/touched.hpp"
#include "observe_doubles.hpp"
#include "tests/unit/in_threads.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <sys/mman.h>
#include <vector>

BOOST_AUTO_TEST_SUITE(observe_touched)

using namespace umadvisor;
using namespace umadvisor::observe;

namespace {

/// Each test has handles and addresses of its own: functions and allocations are the process's.
std::uint64_t next = 0x100000;
std::vector<Allocation> made; ///< by the test that runs

CUfunction fresh_function(const char* name, std::vector<std::pair<std::size_t, std::size_t>> parameters) {
    next += 0x1000;
    driver().functions[next] = {name, std::move(parameters)};
    return reinterpret_cast<CUfunction>(next);
}

Allocation allocate(std::uint64_t bytes, trace::Memory memory = trace::Memory::device) {
    static std::uint64_t address = 0x7f00'0000'0000;
    address += 0x10000000;
    made.push_back(made_allocation(address, bytes, memory));
    allocations().insert(made.back());
    return made.back();
}

Touched scanned(CUfunction function, void** parameters, void** extra = nullptr) {
    Touched touched;
    scan(*function_of(function), parameters, extra, touched);
    return touched;
}

/// All that tells launches of a function apart, which is the same whatever is remembered of earlier ones.
auto key_of(CUfunction function, void** parameters) {
    static const auto memo = std::make_unique<record::PieceMemo>();
    record::LaunchKey key, looked_up, recalled;
    BOOST_REQUIRE(add_to_key(*function_of(function), parameters, nullptr, key));
    BOOST_REQUIRE(add_to_key(*function_of(function), parameters, memo.get(), looked_up));
    BOOST_REQUIRE(add_to_key(*function_of(function), parameters, memo.get(), recalled));
    BOOST_TEST((looked_up.value() == key.value()));
    BOOST_TEST((recalled.value() == key.value()));
    return std::pair(key.value(), allocations().generation());
}

} // namespace

struct Drive {
    Drive() { install_driver(); }
    ~Drive() {
        for (const Allocation& allocation : made)
            erase_allocation(allocation.address);
        made.clear();
    }
};

BOOST_FIXTURE_TEST_SUITE(touched, Drive)

BOOST_AUTO_TEST_CASE(addresses_are_found_in_parameters_of_eight_bytes_and_more) {
    const Allocation a = allocate(0x1000), b = allocate(0x1000, trace::Memory::managed);
    struct Structure {
        double scale;
        std::uint64_t inner;
        int count;
    } given{1.5, b.address + 0xfff, 3};
    const CUfunction function = fresh_function("k", {{0, 8}, {8, 4}, {16, 24}, {40, 8}});
    std::uint64_t first = a.address + 16, again = a.address;
    int number = 4;
    void* parameters[] = {&first, &number, &given, &again};
    const Touched out = scanned(function, parameters);
    BOOST_TEST(out.scanned);
    BOOST_REQUIRE(out.ids.count == 2u); // `again` names a once more
    BOOST_TEST(trace::number(out.ids.values[0]) == a.id);
    BOOST_TEST(trace::number(out.ids.values[1]) == b.id);
    BOOST_TEST(out.omitted == 0u);
    BOOST_REQUIRE(out.managed_count == 1u);
    BOOST_TEST(out.managed[0].address == b.address);
}

BOOST_AUTO_TEST_CASE(nobody_asks_where_placed_memory_is) {
    const Allocation a = allocate(0x1000, trace::Memory::managed), b = allocate(0x1000, trace::Memory::managed);
    allocations().set_kept_on_device(a.address, true);
    const CUfunction function = fresh_function("k", {{0, 8}, {8, 8}});
    std::uint64_t first = a.address, second = b.address;
    void* parameters[] = {&first, &second};
    const Touched out = scanned(function, parameters);
    BOOST_TEST(out.ids.count == 2u);
    BOOST_REQUIRE(out.managed_count == 1u);
    BOOST_TEST(out.managed[0].id == b.id);
}

BOOST_AUTO_TEST_CASE(nothing_beyond_a_parameter_is_read) {
    allocate(0x1000);
    const long page = 4096;
    char* const pages =
        static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    BOOST_REQUIRE(mprotect(pages + page, page, PROT_NONE) == 0);
    const CUfunction function = fresh_function("k", {{0, 4}, {8, 12}});
    void* parameters[] = {pages + page - 4, pages + page - 12}; // a read of one byte more would end the test
    const Touched out = scanned(function, parameters);
    BOOST_TEST(out.scanned);
    munmap(pages, 2 * page);
}

BOOST_AUTO_TEST_CASE(a_parameter_buffer_is_scanned_up_to_its_size) {
    const Allocation a = allocate(64), b = allocate(64);
    const CUfunction function = fresh_function("k", {{0, 8}, {8, 8}});
    std::uint64_t buffer[2] = {a.address, b.address};
    std::size_t bytes = 8;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    const Touched out = scanned(function, nullptr, extra);
    BOOST_TEST(out.scanned);
    BOOST_TEST(out.ids.count == 1u);
    bytes = 16;
    BOOST_TEST(scanned(function, nullptr, extra).ids.count == 2u);
}

BOOST_AUTO_TEST_CASE(without_a_layout_parameters_are_not_scanned_but_a_buffer_is) {
    const Allocation a = allocate(64);
    remove_entry(attach::Entry::cuFuncGetParamInfo); // a driver before 12.4
    const CUfunction function = fresh_function("k", {{0, 8}});
    std::uint64_t value = a.address;
    void* parameters[] = {&value};
    const Touched out = scanned(function, parameters);
    BOOST_TEST(!out.scanned);
    BOOST_TEST(out.ids.count == 0u);
    std::size_t bytes = 8;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_BUFFER_POINTER, &value,
                     CU_LAUNCH_PARAM_END};
    const Touched through_buffer = scanned(function, nullptr, extra);
    BOOST_TEST(through_buffer.scanned);
    BOOST_TEST(through_buffer.ids.count == 1u);
}

BOOST_AUTO_TEST_CASE(more_than_can_be_named_are_counted) {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < trace::max_touched + 5; ++i)
        values.push_back(allocate(64).address);
    const CUfunction function = fresh_function("k", {{0, values.size() * 8}});
    void* parameters[] = {values.data()};
    const Touched out = scanned(function, parameters);
    BOOST_TEST(out.ids.count == trace::max_touched);
    BOOST_TEST(out.omitted == 5u);
}

BOOST_AUTO_TEST_CASE(managed_variables_are_reached_without_a_parameter) {
    const Allocation variable = allocate(64, trace::Memory::managed);
    module_variables().add(variable.address, true, 0xabc0);
    const CUfunction function = fresh_function("k", {}), other = fresh_function("other", {});
    note_function(other, reinterpret_cast<CUmodule>(0xdef0), "other");
    BOOST_TEST(scanned(function, nullptr).managed_count ==
               1u); // of an unknown module: it may reach all of them
    BOOST_TEST(scanned(other, nullptr).managed_count == 0u);
    forget_variables(0xabc0, [](const Allocation&) noexcept {});
}

BOOST_AUTO_TEST_CASE(a_key_changes_with_whatever_scan_goes_by) {
    Allocation a = allocate(64);
    const CUfunction function = fresh_function("k", {{0, 8}, {8, 4}, {16, 16}});
    note_function(function, reinterpret_cast<CUmodule>(0xfab0), "k");
    std::uint64_t address = a.address, structure[2] = {1, 2};
    int number = 4;
    void* parameters[] = {&address, &number, structure};
    const auto key = key_of(function, parameters);
    BOOST_TEST((key_of(function, parameters) == key));
    number = 5; // no address
    BOOST_TEST((key_of(function, parameters) == key));
    structure[1] = 3;
    BOOST_TEST((key_of(function, parameters) == key));
    structure[1] = a.address;
    BOOST_TEST((key_of(function, parameters) != key));
    std::swap(structure[1], address); // the same words in other places
    BOOST_TEST((key_of(function, parameters) != key));
    address = a.address;
    structure[1] = 2;
    BOOST_TEST((key_of(function, parameters) == key));

    // Freed and made again at the same address: another allocation.
    BOOST_REQUIRE(erase_allocation(a.address));
    const auto freed = key_of(function, parameters);
    BOOST_TEST((freed != key));
    a.id = allocations().next_id();
    allocations().insert(a);
    const auto made_again = key_of(function, parameters);
    BOOST_TEST((made_again != key));
    BOOST_TEST((made_again != freed));

    // A variable of the module is within its reach from now on.
    module_variables().add(a.address + (1 << 20), true, 0xfab0);
    allocations().insert(made_allocation(a.address + (1 << 20), 64, trace::Memory::managed));
    const auto with_variable = key_of(function, parameters);
    BOOST_TEST((with_variable != made_again));
    forget_variables(0xfab0, [](const Allocation&) noexcept {});
    BOOST_TEST((key_of(function, parameters) != with_variable));

    // The handle comes back with the same name and layout in another module.
    const auto before = key_of(function, parameters);
    forget_module(0xfab0);
    note_function(function, reinterpret_cast<CUmodule>(0xfab1), "k");
    BOOST_TEST((key_of(function, parameters) != before));
}

BOOST_AUTO_TEST_CASE(every_word_of_a_large_structure_counts) {
    constexpr std::size_t count = 4000 / 8; // as PyTorch's kernels over lists of tensors have
    const Allocation a = allocate(0x1000), b = allocate(0x1000);
    const CUfunction large = fresh_function("large", {{0, 8}, {8, count * 8}});
    std::uint64_t first = a.address, words[count];
    void* parameters[] = {&first, words};
    for (std::uint64_t& word : words)
        word = a.address;
    const auto key = key_of(large, parameters);
    for (std::uint64_t& word : words) {
        word = b.address;
        BOOST_TEST((key_of(large, parameters) != key));
        word = a.address;
    }
    BOOST_TEST((key_of(large, parameters) == key));

    // What was a number is an address from now on.
    const AllocationIndex::Extent extent = allocations().extent();
    words[100] = extent.low + extent.span + 0x1000;
    const auto number = key_of(large, parameters);
    allocations().insert(made_allocation(words[100], 64, trace::Memory::device));
    BOOST_TEST((key_of(large, parameters).first != number.first));
}

BOOST_AUTO_TEST_CASE(launches_that_are_not_described_by_a_key) {
    record::LaunchKey key;
    const CUfunction given = fresh_function("given", {{0, 8}});
    void* parameters[] = {nullptr};
    BOOST_TEST(!add_to_key(*function_of(given), nullptr, nullptr, key)); // given as a buffer
    BOOST_TEST(add_to_key(*function_of(given), parameters, nullptr,
                          key)); // the driver will say what it thinks of that
    remove_entry(attach::Entry::cuFuncGetParamInfo);
    const CUfunction untold = fresh_function("untold", {{0, 8}});
    BOOST_TEST(!add_to_key(*function_of(untold), parameters, nullptr, key));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(functions, Drive)

BOOST_AUTO_TEST_CASE(a_function_is_asked_about_and_defined_once) {
    const CUfunction function = fresh_function("scale", {{0, 8}, {8, 4}, {16, 16}});
    const Function* const known = function_of(function);
    BOOST_REQUIRE(known != nullptr);
    BOOST_TEST(known->layout_known);
    BOOST_TEST(known->parameters == 3u);
    BOOST_TEST(known->parameter_bytes == 32u);
    BOOST_TEST(known->wide_count == 2u);
    BOOST_TEST(known->wide[1].index == 2u);
    BOOST_TEST(function_of(function) == known);
    BOOST_REQUIRE(recorder().functions.size() == 1u);
    BOOST_TEST(recorder().functions[0].second == "scale");
    BOOST_TEST(recorder().functions[0].first.parameters == 3u);
    BOOST_TEST(function_of(nullptr) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_kernel_handle_is_asked_about_as_a_kernel) {
    next += 0x1000;
    driver().kernels[next] = {"templated", {{0, 8}}};
    note_kernel(reinterpret_cast<CUkernel>(next), reinterpret_cast<CUlibrary>(0x77), "templated");
    const Function* const known = function_of(reinterpret_cast<CUfunction>(next));
    BOOST_TEST(known->parameters == 1u);
    BOOST_TEST(known->module == 0x77u);
    BOOST_TEST(recorder().functions.back().second == "templated");
}

BOOST_AUTO_TEST_CASE(an_old_driver_leaves_the_name_that_the_program_used) {
    remove_entry(attach::Entry::cuFuncGetName);
    remove_entry(attach::Entry::cuFuncGetParamInfo);
    const CUfunction function = fresh_function("", {});
    {
        std::string gone = "told_by_the_program";
        note_function(function, reinterpret_cast<CUmodule>(0x88), gone.c_str());
        gone.assign(gone.size(), '?');
    }
    const Function* const known = function_of(function);
    BOOST_TEST(!known->layout_known);
    BOOST_TEST(recorder().functions.back().second == "told_by_the_program");
}

BOOST_AUTO_TEST_CASE(after_an_unload_a_handle_is_looked_up_anew) {
    const CUfunction reused = fresh_function("before", {{0, 8}}), kept = fresh_function("kept", {{0, 8}});
    const CUfunction elsewhere = fresh_function("elsewhere", {});
    note_function(reused, reinterpret_cast<CUmodule>(0x91), "before");
    note_function(elsewhere, reinterpret_cast<CUmodule>(0x92), "elsewhere");
    const std::uint64_t before = function_of(reused)->id, same = function_of(kept)->id;
    const Function* const untouched = function_of(elsewhere);
    forget_module(0x91);
    driver().functions[reinterpret_cast<std::uint64_t>(reused)] = {"after", {{0, 8}, {8, 8}}};
    BOOST_TEST(function_of(reused)->id != before);
    BOOST_TEST(function_of(reused)->parameters == 2u);
    BOOST_TEST(function_of(kept)->id == same); // its module was not known, but it is what it was
    BOOST_TEST(function_of(elsewhere) == untouched);
    BOOST_TEST(recorder().functions.size() == 4u);
    forget_module(0); // a context went, and whatever was loaded in it
    driver().functions[reinterpret_cast<std::uint64_t>(elsewhere)] = {"other", {{0, 8}}};
    BOOST_TEST(function_of(elsewhere)->id != untouched->id);
    BOOST_TEST(function_of(kept)->id == same);
}

BOOST_AUTO_TEST_CASE(threads_that_meet_at_first_sight_agree) {
    std::vector<CUfunction> handles;
    for (int i = 0; i < 3000; ++i) // the table grows meanwhile
        handles.push_back(fresh_function("many", {{0, 8}}));
    std::vector<std::vector<std::uint64_t>> ids(4);
    test::in_threads(ids.size(), [&](std::size_t thread) {
        for (const CUfunction handle : handles)
            ids[thread].push_back(function_of(handle)->id);
    });
    for (const auto& mine : ids)
        BOOST_TEST(mine == ids[0]);
    BOOST_TEST(recorder().functions.size() == handles.size());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

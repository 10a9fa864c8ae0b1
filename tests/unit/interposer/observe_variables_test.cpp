#include "interposer/observe/module_variables.hpp"

#include "observe_doubles.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <mutex>
#include <string>

BOOST_AUTO_TEST_SUITE(variables_of_modules)

using namespace umadvisor;
using namespace umadvisor::observe;

/// Variables of this test, which start at 0x5a00'0000'0000.
struct Variables {
    ~Variables() {
        Allocation gone[8];
        allocations().remove_range(base, base + 0x10000, gone, 8);
    }
    void add(std::uint64_t place, trace::Memory memory, std::uint64_t module) {
        const std::uint64_t address = base + place * 0x1000;
        variables->add(address, memory == trace::Memory::managed, module);
        allocations().insert(made_allocation(address, 0x100, memory, place));
    }
    std::size_t managed(std::uint64_t module, std::size_t capacity = 4) {
        return variables->managed(module, found, capacity);
    }
    static constexpr std::uint64_t base = 0x5a00'0000'0000;
    std::unique_ptr<ModuleVariables> variables = std::make_unique<ModuleVariables>();
    Allocation found[4] = {};
};

BOOST_FIXTURE_TEST_CASE(managed_ones_are_reached_from_their_module, Variables) {
    add(1, trace::Memory::managed, 0xa);
    add(2, trace::Memory::managed, 0xb);
    add(3, trace::Memory::device, 0xa);
    BOOST_TEST(managed(0xa) == 1u);
    BOOST_TEST(found[0].id == 1u);
    BOOST_TEST(managed(0xb) == 1u);
    BOOST_TEST(found[0].id == 2u);
    BOOST_TEST(managed(0xc) == 0u);
    BOOST_TEST(managed(0) == 2u);
    BOOST_TEST(managed(0, 1) == 1u);
}

BOOST_FIXTURE_TEST_CASE(one_that_is_no_allocation_yet_is_not_reached, Variables) {
    variables->add(base, true, 0xa);
    BOOST_TEST(managed(0xa) == 0u);
}

BOOST_FIXTURE_TEST_CASE(they_go_with_their_module_or_by_themselves, Variables) {
    add(1, trace::Memory::managed, 0xa);
    add(2, trace::Memory::managed, 0xb);
    add(3, trace::Memory::device, 0xa);
    std::uint64_t taken = 0;
    while (const std::uint64_t address = variables->take(0xa))
        taken += address - base;
    BOOST_TEST(taken == 0x4000u);
    BOOST_TEST(managed(0) == 1u);
    variables->drop(base + 0x2000);
    BOOST_TEST(managed(0) == 0u);
    add(4, trace::Memory::managed, 0xa); // in the place of one that has gone
    BOOST_TEST(managed(0xa) == 1u);
}

BOOST_AUTO_TEST_CASE(those_of_a_module_are_no_allocations_once_it_has_gone) {
    constexpr std::uint64_t address = 0x5b00'0000'0000, other = address + 0x1000;
    for (const std::uint64_t each : {address, other}) {
        module_variables().add(each, false, each);
        allocations().insert(made_allocation(each, 0x100, trace::Memory::device));
    }
    static std::vector<std::uint64_t> gone;
    forget_variables(address, [](const Allocation& variable) noexcept { gone.push_back(variable.address); });
    BOOST_TEST(gone == std::vector<std::uint64_t>{address}, boost::test_tools::per_element());
    Allocation found;
    BOOST_TEST(!allocations().find(address, found));
    BOOST_TEST(allocations().erase(other, found));
}

BOOST_FIXTURE_TEST_CASE(more_than_are_kept_are_told_of, Variables) {
    constexpr std::size_t most = record::most(record::Bound::module_variables);
    const auto told = [] {
        const std::lock_guard guard(recorder().mutex);
        return std::count_if(recorder().notes.begin(), recorder().notes.end(), [](const std::string& note) {
            return note.find("no more than 1024 variables of modules") != std::string::npos;
        });
    };
    for (std::size_t i = 0; i < most; ++i)
        variables->add(base + i * 0x1000, true, 0xa);
    BOOST_TEST(told() == 0);
    variables->add(base + most * 0x1000, true, 0xa);
    variables->add(base + most * 0x1000, true, 0xa);
    BOOST_TEST(told() == 1);
    variables->drop(base); // there is room again
    add(4, trace::Memory::managed, 0xb);
    BOOST_TEST(managed(0xb) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

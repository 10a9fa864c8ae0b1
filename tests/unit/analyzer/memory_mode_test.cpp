#include "analyzer/machine/memory_mode.hpp"

#include <boost/test/unit_test.hpp>

using namespace umadvisor;
using machine::memory_mode;
using machine::MemoryMode;

namespace {

constexpr std::uint64_t not_a_node = 1, a_node = 2; ///< CUdeviceNumaConfig, plus 1

trace::Device device_of(std::uint64_t pageable, std::uint64_t host_page_tables, std::uint64_t numa_config = 0,
                        std::uint64_t integrated = 0) {
    return {.pageable_memory_access = pageable,
            .addressing_told = 1,
            .integrated = integrated,
            .pageable_uses_host_page_tables = host_page_tables,
            .numa_config = numa_config};
}

trace::Driver driver_of(std::string_view release, std::string_view mode = "") {
    return {.release = release, .coherent_memory_mode = mode};
}

} // namespace

BOOST_AUTO_TEST_SUITE(analyzer_memory_mode)

BOOST_AUTO_TEST_CASE(the_attributes_of_a_device_tell_its_mode) {
    BOOST_CHECK(memory_mode(device_of(0, 0), nullptr) == MemoryMode::discrete);
    BOOST_CHECK(memory_mode(device_of(1, 0), nullptr) == MemoryMode::hmm);
    BOOST_CHECK(memory_mode(device_of(1, 1, a_node), nullptr) == MemoryMode::coherent_numa);
    BOOST_CHECK(memory_mode(device_of(1, 1, not_a_node), nullptr) == MemoryMode::coherent_cdmm);
    BOOST_CHECK(memory_mode(device_of(1, 1, not_a_node, 1), nullptr) == MemoryMode::one_pool);
    BOOST_CHECK(memory_mode(device_of(0, 0, not_a_node, 1), nullptr) == MemoryMode::one_pool);
}

/// Before CUDA 12.2 no attribute says whether the device's memory is a NUMA node.
BOOST_AUTO_TEST_CASE(else_the_drivers_parameter_or_its_release_does) {
    const trace::Device coherent = device_of(1, 1);
    const auto mode = [&coherent](const trace::Driver& driver) { return memory_mode(coherent, &driver); };
    BOOST_CHECK(mode(driver_of("610.10", "driver")) == MemoryMode::coherent_cdmm);
    BOOST_CHECK(mode(driver_of("615.71.09", "numa")) == MemoryMode::coherent_numa);
    BOOST_CHECK(mode(driver_of("610.10")) == MemoryMode::coherent_numa);
    BOOST_CHECK(mode(driver_of("615.71.09")) == MemoryMode::coherent_cdmm);
    BOOST_CHECK(mode(driver_of("")) == MemoryMode::undecided);
    BOOST_CHECK(memory_mode(coherent, nullptr) == MemoryMode::undecided);
    const trace::Driver other = driver_of("615.71.09", "numa");
    BOOST_CHECK(memory_mode(device_of(1, 1, not_a_node), &other) == MemoryMode::coherent_cdmm);
}

BOOST_AUTO_TEST_CASE(an_older_trace_leaves_open_how_kernels_reach_pageable_memory) {
    trace::Device device;
    BOOST_CHECK(memory_mode(device, nullptr) == MemoryMode::discrete);
    device.pageable_memory_access = 1;
    BOOST_CHECK(memory_mode(device, nullptr) == MemoryMode::undecided);
}

BOOST_AUTO_TEST_CASE(only_discrete_devices_are_behind_pcie) {
    for (const MemoryMode mode :
         {MemoryMode::undecided, MemoryMode::coherent_numa, MemoryMode::coherent_cdmm, MemoryMode::one_pool})
        BOOST_TEST(!behind_pcie(mode));
    for (const MemoryMode mode : {MemoryMode::discrete, MemoryMode::hmm})
        BOOST_TEST(behind_pcie(mode));
}

BOOST_AUTO_TEST_CASE(a_word_leads_back_to_its_mode) {
    for (const MemoryMode mode : {MemoryMode::undecided, MemoryMode::discrete, MemoryMode::hmm,
                                  MemoryMode::coherent_numa, MemoryMode::coherent_cdmm, MemoryMode::one_pool})
        BOOST_CHECK(machine::mode_called(machine::word(mode)) == mode);
    BOOST_CHECK(machine::mode_called("quantum") == MemoryMode::undecided);
}

BOOST_AUTO_TEST_SUITE_END()

#include "analyzer/machine/memory_mode.hpp"

#include "residency/driver_branches.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::machine {
namespace {

constexpr std::uint64_t is_numa_node = 2; ///< CU_DEVICE_NUMA_CONFIG_NUMA_NODE, plus 1

MemoryMode coherent_mode(const trace::Device& device, const trace::Driver* driver) {
    if (device.numa_config != 0)
        return device.numa_config == is_numa_node ? MemoryMode::coherent_numa : MemoryMode::coherent_cdmm;
    if (driver == nullptr)
        return MemoryMode::undecided;
    if (driver->coherent_memory_mode == "driver")
        return MemoryMode::coherent_cdmm;
    if (driver->coherent_memory_mode == "numa")
        return MemoryMode::coherent_numa;
    const residency::DriverBranch branch = residency::branch_of(driver->release);
    return branch.number == 0 ? MemoryMode::undecided
           : branch.cdmm      ? MemoryMode::coherent_cdmm
                              : MemoryMode::coherent_numa;
}

struct Words {
    std::string_view word, text;
};

/// By mode.
constexpr std::array<Words, 6> words{{{"undecided", "kernels reach pageable memory"},
                                      {"discrete", "discrete"},
                                      {"hmm", "discrete with HMM"},
                                      {"coherent_numa", "coherent (NUMA)"},
                                      {"coherent_cdmm", "coherent (CDMM)"},
                                      {"one_pool", "one pool of memory"}}};

} // namespace

MemoryMode memory_mode(const trace::Device& device, const trace::Driver* driver) {
    if (device.addressing_told == 0) // an older trace
        return device.pageable_memory_access != 0 ? MemoryMode::undecided : MemoryMode::discrete;
    if (device.integrated != 0)
        return MemoryMode::one_pool;
    if (device.pageable_uses_host_page_tables != 0)
        return coherent_mode(device, driver);
    return device.pageable_memory_access != 0 ? MemoryMode::hmm : MemoryMode::discrete;
}

bool behind_pcie(MemoryMode mode) {
    return mode == MemoryMode::discrete || mode == MemoryMode::hmm;
}

bool are_known(const Rates& rates, const trace::Device& device, MemoryMode mode) {
    return behind_pcie(mode) || device.device_name == rates.device;
}

std::string_view word(MemoryMode mode) {
    return words[static_cast<std::size_t>(mode)].word;
}

std::string_view text(MemoryMode mode) {
    return words[static_cast<std::size_t>(mode)].text;
}

MemoryMode mode_called(std::string_view word) {
    const auto* const found = std::ranges::find(words, word, &Words::word);
    return found == words.end() ? MemoryMode::undecided : static_cast<MemoryMode>(found - words.begin());
}

} // namespace umadvisor::machine

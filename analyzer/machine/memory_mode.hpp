/// How host and device share memory on a machine: what a price, a rule or an action may take for granted.
#pragma once

#include "analyzer/machine/rates.hpp"
#include "trace/definitions.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::machine {

enum class MemoryMode : std::uint8_t {
    undecided,     ///< kernels reach pageable memory; the trace does not show how
    discrete,      ///< kernels reach what CUDA allocated
    hmm,           ///< discrete, and Linux lets kernels reach pageable memory by page faults
    coherent_numa, ///< hardware reaches all memory (ATS); the device's is a NUMA node of the system
    coherent_cdmm, ///< the same, but the driver keeps the device's memory: pageable memory stays on the host
    one_pool,      ///< host and device share one memory
};

/// `driver`: of the same trace, or null.
MemoryMode memory_mode(const trace::Device& device, const trace::Driver* driver);

/// Whether PCIe lies between host and device: a rate of PCIe says nothing of other links.
bool behind_pcie(MemoryMode mode);

/// Whether the rates hold for this device: it is behind PCIe, or they were measured on it.
bool are_known(const Rates& rates, const trace::Device& device, MemoryMode mode);

std::string_view word(MemoryMode mode); ///< as documents write it: "coherent_cdmm"
std::string_view text(MemoryMode mode); ///< "coherent (CDMM)"; of undecided what is known
/// undecided, where no mode is called so.
MemoryMode mode_called(std::string_view word);

} // namespace umadvisor::machine

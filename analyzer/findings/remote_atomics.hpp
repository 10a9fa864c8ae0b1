/// Little memory that the driver keeps on the host for kernels that count in it.
#pragma once

#include "analyzer/findings/managed.hpp"

#include <cstdint>
#include <optional>
#include <set>

namespace umadvisor::findings {

struct RemoteAtomics {
    Finding finding;
    std::set<std::uint64_t> kernels; ///< that it slows down
};

/// Nothing where the driver told neither of a mapping across the link nor of atomics, or where no launch is
/// seen to take longer with the memory on the host.
std::optional<RemoteAtomics> remote_atomics(const ManagedMemory& memory, const LineOf& line_of);

} // namespace umadvisor::findings

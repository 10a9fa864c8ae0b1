/// Damage that the checksums do not tell.
#pragma once

#include <cstdint>
#include <vector>

namespace umadvisor::fuzz {

/// Makes the checksums of a trace right: a fuzzer would never get past them.
void seal(std::vector<std::uint8_t>& bytes);

} // namespace umadvisor::fuzz

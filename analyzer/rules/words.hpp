/// Names as sentences have them, and the figures that rules put beside them.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "analyzer/text/figures.hpp"

#include <cstdint>
#include <set>
#include <string>

namespace umadvisor::rules {

using text::bytes_text;
using text::count_text;
using text::percent_text;
using text::rate_text;
using text::time_text;

/// Short kernel names, separated by commas; "the kernel" where none is known.
std::string kernels_text(const Profile& profile, const std::set<std::uint64_t>& functions);

/// "cudaMemcpy 4 MiB x 12", of the bytes of all.
std::string copies_text(const Profile& profile, std::uint64_t entry, double bytes, std::uint64_t count);
/// "cudaMalloc of 4 MiB on average, 12 times", of the bytes of all.
std::string allocations_text(const Profile& profile, std::uint64_t entry, double bytes, std::uint64_t count);

} // namespace umadvisor::rules

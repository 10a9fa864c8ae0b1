/// Whether memory holds values that a kernel could compute itself.
#pragma once

#include "trace/values.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// Regular: one value all over, or values that go up by the same step: words of four or eight bytes, integers
/// (modulo 2^32 and 2^64) or floating-point numbers, that stand side by side or apart by a power of two up to
/// 128 bytes, other words between them included when these are regular, too. So `a[i] = i * step + first` is,
/// of structs as well, and zeros are; text, measured data and random numbers are not. Unknown: too little to
/// judge.
trace::Regularity regularity(const std::uint8_t* bytes, std::size_t size) noexcept;

} // namespace umadvisor::observe

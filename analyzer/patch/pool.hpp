/// The block of code by which a memory pool keeps what is freed.
#pragma once

#include "analyzer/patch/code.hpp"

#include <string>
#include <string_view>

namespace umadvisor::patch {

/// Raises the release threshold of `pool`, an expression, or where that is empty of the pool that
/// cudaMallocAsync uses on `device` (CUDA Runtime API, Stream Ordered Memory Allocator). Each line begins with
/// `indent`, and those inside of the block also with `step`.
std::string keep_memory(std::string_view pool, std::string_view device, std::string_view wrapper,
                        const std::string& indent, const std::string& step);

} // namespace umadvisor::patch

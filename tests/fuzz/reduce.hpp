/// Makes a small input of one that fails.
#pragma once

#include "trace_image.hpp"

#include <functional>

namespace umadvisor::fuzz {

/// Leaves out chunks and records as long as `fails` says that the rest fails, too; calls it some hundred times.
/// `input` as it is where it does not fail any more once its framing is right.
Bytes reduced(const Bytes& input, const std::function<bool(const Bytes&)>& fails);

} // namespace umadvisor::fuzz

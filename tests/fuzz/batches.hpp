/// Many trials in one process, which a crash, a hang or a sanitizer's report may end.
#pragma once

#include "output_check.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace umadvisor::fuzz {

struct Failure {
    std::uint64_t number = 0; ///< of the input
    Objection objection;
};

/// Calls `trial` for the numbers from `first` up to `end` in a child process; after a trial that ends it the
/// next goes on in a fresh one. What a child writes to descriptor 2 is a part of the failure that ended it.
std::vector<Failure> run_batch(std::uint64_t first, std::uint64_t end,
                               const std::function<std::vector<Objection>(std::uint64_t)>& trial);

} // namespace umadvisor::fuzz

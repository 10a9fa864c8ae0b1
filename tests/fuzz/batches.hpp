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

/// Calls `trial` for the numbers from `first` up to `end` in child processes of at most `batch` trials each;
/// after one that ends its process the next goes on in a fresh one. What children write to descriptor 2 is kept
/// from the terminal.
std::vector<Failure> run_batches(std::uint64_t first, std::uint64_t end, std::uint64_t batch,
                                 const std::function<std::vector<Objection>(std::uint64_t)>& trial);

} // namespace umadvisor::fuzz

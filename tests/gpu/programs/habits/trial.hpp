#pragma once
// What one run is asked for and what it says of itself at the end.
#include "options.hpp"

#include <string>
#include <vector>

namespace habits {

inline constexpr std::size_t page = 4096;
inline constexpr std::size_t block = std::size_t{2} << 20;
inline constexpr std::size_t most_bytes = std::size_t{2} << 30;
/// Below this a habit that lives from repetition cannot be told from an accident: only "borderline" goes lower.
inline constexpr unsigned fewest_rounds = 4;
/// Below this a part of an array is not told from the whole: neighbours move with it.
inline constexpr std::size_t fewest_pages = 256;

struct Request {
    std::size_t bytes = std::size_t{1} << 20; ///< the array that the habit is about
    unsigned streams = 1;
    unsigned rounds = 8;
    unsigned seed = 1; ///< of the array's contents
};

struct Allocation {
    std::string name;
    std::size_t bytes;
    std::string label;
};

/// One run: a row of the table lets it happen and the JSON line tells of it.
struct Trial {
    Request request;
    std::string label;                   ///< what the array of the habit is labelled with
    std::vector<Allocation> allocations; ///< managed memory, in the order of allocation
    bool right = true;                   ///< all data came out as computed on paper
};

} // namespace habits

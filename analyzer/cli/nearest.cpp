#include "analyzer/cli/nearest.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>
#include <vector>

namespace umadvisor::cli {
namespace {

/// Letters inserted, removed, replaced or exchanged with their neighbour (the optimal string alignment
/// distance).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), 0U);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::exchange(last, row);
    }
    return last.back();
}

} // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    std::string_view nearest;
    std::size_t least = word.size() / 3 + 1;
    for (const std::string_view each : known)
        if (const std::size_t apart = distance(word, each); apart < least) {
            least = apart;
            nearest = each;
        }
    return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest);
}

} // namespace umadvisor::cli

#include "interposer/observe/regular_content.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace umadvisor::observe {

namespace {

/// Words that rise by the same step from one to the next also do so over every multiple of their distance, so a
/// check of the largest distance covers all that divide it.
constexpr std::size_t distance = 128;
constexpr std::size_t fewest = 4; ///< numbers of one sequence; two are always regular

template <class Word>
Word word_at(const std::uint8_t* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

/// `count` numbers, `distance` apart.
template <class Number>
bool goes_up_evenly(const std::uint8_t* first, std::size_t count) {
    if constexpr (std::is_integral_v<Number>) {
        Number last = word_at<Number>(first + distance);
        const Number step = last - word_at<Number>(first);
        for (std::size_t i = 2; i < count; ++i) {
            const Number next = word_at<Number>(first + i * distance);
            if (static_cast<Number>(next - last) != step)
                return false;
            last = next;
        }
    } else {
        // Each number is rounded: the largest decides how far one may be off.
        const double begin = word_at<Number>(first), end = word_at<Number>(first + (count - 1) * distance);
        const double off =
            2 * double{std::numeric_limits<Number>::epsilon()} * std::max(std::fabs(begin), std::fabs(end));
        const double step = (end - begin) / static_cast<double>(count - 1);
        if (!std::isfinite(begin) || !std::isfinite(end) || !std::isfinite(step))
            return false;
        for (std::size_t i = 1; i < count; ++i)
            if (!(std::fabs(word_at<Number>(first + i * distance) - (begin + static_cast<double>(i) * step)) <=
                  off))
                return false;
    }
    return true;
}

} // namespace

trace::Regularity regularity(const std::uint8_t* bytes, std::size_t size) noexcept {
    if (size < fewest * distance)
        return trace::Regularity::unknown;
    for (std::size_t at = 0; at < distance; at += 8) {
        const std::size_t wide = (size - at) / distance + ((size - at) % distance >= 8);
        if (goes_up_evenly<std::uint64_t>(bytes + at, wide) || goes_up_evenly<double>(bytes + at, wide))
            continue;
        for (const std::size_t half : {at, at + 4}) {
            const std::size_t narrow = (size - half) / distance + ((size - half) % distance >= 4);
            if (!goes_up_evenly<std::uint32_t>(bytes + half, narrow) &&
                !goes_up_evenly<float>(bytes + half, narrow))
                return trace::Regularity::irregular;
        }
    }
    return trace::Regularity::regular;
}

} // namespace umadvisor::observe

/// Times of several replays at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace umadvisor::timeline {

inline double later(double a, double b) {
    return std::max(a, b);
}
inline double earlier(double a, double b) {
    return std::min(a, b);
}

/// One time for each of the replays that are made side by side, nanoseconds. Each operation applies to all, so
/// that the compiler makes a few wide instructions of it.
struct alignas(64) Times {
    static constexpr std::size_t count = 8;
    std::array<double, count> at{};

    Times() = default;
    explicit Times(double all) { at.fill(all); }

    friend Times operator+(const Times& a, const Times& b) {
        return both(a, b, [](double x, double y) { return x + y; });
    }
    friend Times operator-(const Times& a, const Times& b) {
        return both(a, b, [](double x, double y) { return x - y; });
    }
    friend Times operator+(const Times& a, double b) { return a + Times(b); }
    friend Times operator-(const Times& a, double b) { return a - Times(b); }
    friend Times later(const Times& a, const Times& b) {
        return both(a, b, [](double x, double y) { return x < y ? y : x; });
    }
    friend Times earlier(const Times& a, const Times& b) {
        return both(a, b, [](double x, double y) { return y < x ? y : x; });
    }

private:
    template <class Of>
    [[gnu::always_inline]] static Times both(const Times& a, const Times& b, const Of& of) {
        Times all;
        for (std::size_t i = 0; i < count; ++i)
            all.at[i] = of(a.at[i], b.at[i]);
        return all;
    }
};

} // namespace umadvisor::timeline

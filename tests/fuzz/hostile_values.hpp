/// Numbers and texts that no program has but a file may hold.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>

#include "trace/types.hpp"

namespace umadvisor::fuzz {

using Random = std::mt19937_64;

/// Stands at the start of a line that a text tries to forge.
inline constexpr std::string_view forged_line = "FORGED";
/// Of a file in the working folder that texts name as a source file. It has a source's suffix in none of them.
inline constexpr std::string_view secret_file = "secret", secret_content = "SECRET-OF-ANOTHER-FILE";
/// A FIFO in the working folder that nobody writes to; texts name it, too.
inline constexpr std::string_view fifo_file = "fifo.py";

/// Zero, the greatest, powers of two, their neighbours, and small ones, which are likely to be somebody's id.
std::uint64_t hostile_number(Random& random);

/// Control bytes, line feeds, invalid UTF-8, bidirectional controls, markup, paths, symbols that grow when they
/// are demangled, very long ones.
std::string hostile_text(Random& random);

/// A mangled name of some 300 bytes whose demangled form doubles with each of `levels`.
std::string doubling_symbol(unsigned levels);

/// Fills the fields of a record with these; `plain` of a hundred numbers are small, `named` of a hundred texts
/// tame.
class HostileFiller {
public:
    HostileFiller(Random& random, unsigned plain, unsigned named)
        : random_(random), plain_(plain), named_(named) {}

    template <class T>
    void number(std::string_view, T& value) {
        if constexpr (trace::is_enumeration<T>)
            value = static_cast<T>(random_() % (random_() % 8 == 0 ? 256 : 8));
        else
            value = static_cast<T>(number());
    }
    void time(std::string_view, std::uint64_t& value) {
        value = random_() % 100 < plain_ ? now_ += random_() % 100'000 : hostile_number(random_);
    }
    void address(std::string_view, std::uint64_t& value) {
        value = random_() % 100 < plain_ ? 0x7f00'0000'0000 + random_() % 64 * 4096 : hostile_number(random_);
    }
    template <class T>
    void handle(std::string_view, T& value) {
        value = static_cast<T>(number());
    }
    void text(std::string_view key, std::string_view& value) {
        value = random_() % 100 < named_ ? key : texts_.emplace_back(hostile_text(random_));
    }
    template <std::size_t N, class T>
    void numbers(std::string_view, trace::Numbers<N, T>& values) {
        values.count = 0;
        for (std::uint64_t count = random_() % 4 == 0 ? random_() % (N + 1) : random_() % 3; count > 0; --count)
            values.add(static_cast<T>(number()));
    }

private:
    std::uint64_t number() { return random_() % 100 < plain_ ? random_() % 12 : hostile_number(random_); }

    Random& random_;
    unsigned plain_, named_;
    std::uint64_t now_ = 10'000;
    std::deque<std::string> texts_; ///< records point into them
};

} // namespace umadvisor::fuzz

/// A 128-bit fingerprint of a sequence of words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// The sum of the full products of each word with a number of its own. Sequences that differ in one word have
/// different sums; for two that differ in several, one in 2^63 choices of the numbers makes the sums equal. So
/// two sequences with the same fingerprint count as equal: a program that compares a million a second would get
/// a wrong answer once in 290,000 years. The words come from the program's own calls and frames, so collisions
/// need not withstand an attacker.
class Fingerprint {
public:
    static constexpr std::size_t capacity = 272;   ///< words of a sequence
    static constexpr std::size_t extra = capacity; ///< one more index, which add() and fold() never use

    struct Value {
        std::uint64_t low = 0, high = 0;
        bool operator==(const Value&) const noexcept = default;
    };

    Fingerprint() noexcept { hide(numbers_); }
    /// Continues from the fingerprint of other words.
    explicit Fingerprint(const Value& start) noexcept : sum_(static_cast<Wide>(start.high) << 64 | start.low) {
        hide(numbers_);
    }

    /// The caller must not exceed `capacity`.
    void add(std::uint64_t word) noexcept { add_at(count_++, word); }

    /// Adds the word with the index `index`, which the caller counts.
    void add_at(std::size_t index, std::uint64_t word) noexcept {
        sum_ += static_cast<Wide>(word) * numbers_[index];
    }

    Value value() const noexcept {
        return {static_cast<std::uint64_t>(sum_), static_cast<std::uint64_t>(sum_ >> 64)};
    }

    /// Adds the product of two words, each with a number added to it (NH: Black and others, UMAC, CRYPTO 1999):
    /// one in 2^64 choices of the numbers makes the sums of different sequences equal.
    void add_pair(std::uint64_t first, std::uint64_t second) noexcept {
        sum_ += static_cast<Wide>(first + numbers_[count_]) * (second + numbers_[count_ + 1]);
        count_ += 2;
    }

    /// The fingerprint of the words of both, which must have different indices.
    Value value_with(const Fingerprint& other) const noexcept {
        const Wide sum = sum_ + other.sum_;
        return {static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64)};
    }

    /// For sequences of any length: once all indices are used, the sum so far begins the next sequence.
    void fold() noexcept {
        const Value so_far = value();
        sum_ = 0;
        count_ = 0;
        add(so_far.low);
        add(so_far.high);
    }
    std::size_t room() const noexcept { return capacity - count_; }

private:
    __extension__ using Wide = unsigned __int128;

    static constexpr std::array<std::uint64_t, capacity + 1> numbers = [] {
        std::array<std::uint64_t, capacity + 1> mixed{};
        std::uint64_t state = 0x9e3779b97f4a7c15u; // splitmix64
        for (std::uint64_t& number : mixed) {
            std::uint64_t z = state += 0x9e3779b97f4a7c15u;
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
            z = (z ^ z >> 27) * 0x94d049bb133111ebu;
            number = z ^ z >> 31;
        }
        return mixed;
    }();

    /// Hides the numbers from the compiler, which would put each one it knows into the code, ten bytes each.
    static void hide(const std::uint64_t*& table) noexcept { asm("" : "+r"(table)); }

    const std::uint64_t* numbers_ = numbers.data();
    Wide sum_ = 0;
    std::size_t count_ = 0;
};

} // namespace umadvisor::record

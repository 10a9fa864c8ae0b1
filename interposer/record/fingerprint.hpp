/// A row of words told from another by 128 bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Sum of products of each word with a number of its own, nothing of the products lost. Rows that differ in one
/// word differ in the sum; of rows that differ in several, whatever they hold, one in 2^63 choices of the
/// numbers makes the sums meet. So two rows with one fingerprint are taken for the same row: a program that
/// compares a million rows a second would see a wrong one in 290,000 years. The words come from the program's
/// own calls and frames; nobody gains by making them meet.
class Fingerprint {
public:
    static constexpr std::size_t capacity = 272;   ///< words of a row
    static constexpr std::size_t apart = capacity; ///< one more place, which add() and fold() never take

    struct Value {
        std::uint64_t low = 0, high = 0;
        bool operator==(const Value&) const noexcept = default;
    };

    Fingerprint() noexcept { hide(numbers_); }
    /// Goes on from what other words have come to.
    explicit Fingerprint(const Value& start) noexcept : sum_(static_cast<Wide>(start.high) << 64 | start.low) {
        hide(numbers_);
    }

    /// The caller keeps to `capacity`.
    void add(std::uint64_t word) noexcept { add_at(count_++, word); }

    /// The word at a place of the row that the caller counts.
    void add_at(std::size_t place, std::uint64_t word) noexcept {
        sum_ += static_cast<Wide>(word) * numbers_[place];
    }

    Value value() const noexcept {
        return {static_cast<std::uint64_t>(sum_), static_cast<std::uint64_t>(sum_ >> 64)};
    }

    /// Two words for one product, each with a number added to it (NH: Black and others, UMAC, CRYPTO 1999): of
    /// rows that differ one in 2^64 choices of the numbers makes the sums meet.
    void add_pair(std::uint64_t first, std::uint64_t second) noexcept {
        sum_ += static_cast<Wide>(first + numbers_[count_]) * (second + numbers_[count_ + 1]);
        count_ += 2;
    }

    /// Of the words of both, which have places of their own.
    Value value_with(const Fingerprint& other) const noexcept {
        const Wide sum = sum_ + other.sum_;
        return {static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64)};
    }

    /// For rows of any length: when the places are used up, what was summed starts the next row.
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

    /// From the compiler, which would make ten bytes of code of each number that it knows.
    static void hide(const std::uint64_t*& table) noexcept { asm("" : "+r"(table)); }

    const std::uint64_t* numbers_ = numbers.data();
    Wide sum_ = 0;
    std::size_t count_ = 0;
};

} // namespace umadvisor::record

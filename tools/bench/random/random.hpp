/// Numbers that a seed decides, and a digest of what a program saw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace random_program {

/// SplitMix64.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// Below `end`, which is above 0.
    std::size_t below(std::size_t end) { return static_cast<std::size_t>(next() % end); }
    bool one_in(std::size_t n) { return below(n) == 0; }
    /// 1 to `most`; each power of two as often as the next.
    std::size_t length(std::size_t most) {
        std::size_t bits = 0;
        while (bits < 40 && most >> bits > 1)
            ++bits;
        const std::size_t limit = std::size_t{2} << below(bits + 1);
        return 1 + below(limit < most ? limit : most);
    }
    /// `bytes` numbers, eight at a time.
    void fill(void* target, std::size_t bytes) {
        auto* at = static_cast<unsigned char*>(target);
        std::uint64_t word = next();
        for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
            word = word * 6364136223846793005u + 1442695040888963407u;
            std::memcpy(at, &word, sizeof word);
        }
        std::memcpy(at, &word, bytes);
    }

private:
    std::uint64_t state_;
};

class Digest {
public:
    void add(std::uint64_t word) {
        value_ = (value_ ^ word) * 0x9fb21c651e98df25;
        value_ ^= value_ >> 32;
    }
    void add(const void* source, std::size_t bytes) {
        const auto* at = static_cast<const unsigned char*>(source);
        std::uint64_t word = bytes;
        for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
            add(word);
            std::memcpy(&word, at, sizeof word);
        }
        add(word);
        for (; bytes > 0; ++at, --bytes)
            add(*at);
    }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 1;
};

} // namespace random_program
